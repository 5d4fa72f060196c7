// kiln open: where the console shows something.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "manifest/json/json.h"
#include "storage/tree/digest_proto.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/support/fake_farm.h"

namespace kiln {
namespace {

using testing_support::runKiln;

struct KilnOpen : testing::Test {
  testing_support::TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> store =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  testing_support::FakeFarm farm{*store};
  const std::string artifact = "sha256:" + std::string(64, 'a');
  const std::string view = "http://127.0.0.1:8980/#/artifacts/" + artifact + "\n";

  testing_support::KilnResult kiln(std::vector<std::string> arguments,
                                   std::map<std::string, std::string> more = {}) {
    more.emplace("KILN_HTTP", "http://127.0.0.1:8980/");
    more.emplace("KILN_ENDPOINT", farm.endpoint());
    return runKiln(arguments, more, directory.path());
  }
};

TEST_F(KilnOpen, PrintsTheUrlOfAnArtifactOrAJob) {
  EXPECT_EQ(kiln({"open", artifact}).out, view);
  EXPECT_EQ(kiln({"open", "01a20a5f5357a832933e0e55689441e952067af5a02e"}).out,
            "http://127.0.0.1:8980/#/jobs/01a20a5f5357a832933e0e55689441e952067af5a02e\n");
  EXPECT_EQ(kiln({"open", "job-1", "--http", "https://farm.example.org"}).out,
            "https://farm.example.org/#/jobs/job-1\n");
  EXPECT_EQ(parseJson(kiln({"open", artifact, "--json"}).out)->at("url").get<std::string>() + "\n", view);
}

TEST_F(KilnOpen, FewerDigitsAreWhatTheFarmSays) {
  *farm.script.artifacts[artifact].mutable_manifest() = toProto(*Digest::parse(artifact, 0));
  EXPECT_EQ(kiln({"open", artifact.substr(0, 7 + 12)}).out, view);
  EXPECT_EQ(kiln({"open", std::string(12, 'a')}).out, view) << "without sha256: too";
  EXPECT_EQ(kiln({"open", "sha256:" + std::string(12, 'b')}).exit, 6);
}

TEST_F(KilnOpen, RefusesWhatIsNoUrlAndNoName) {
  for (const char* name : {"../x", "a b", "job#1", "sha256:aa"})
    EXPECT_EQ(kiln({"open", name}).exit, 2) << name;
  for (const char* http : {"ftp://x", "javascript:alert(1)", "http://a b", "http://a\x1b[2J", "http://a/#x"})
    EXPECT_EQ(kiln({"open", artifact}, {{"KILN_HTTP", http}}).exit, 2) << http;
  const auto unnamed = runKiln({"open", artifact});
  EXPECT_EQ(unnamed.exit, 2);
  EXPECT_NE(unnamed.err.find("kiln config add NAME --http URL"), std::string::npos) << unnamed.err;
}

TEST_F(KilnOpen, StartsTheBrowserThatIsNamed) {
  const std::string browser = directory / "browser", seen = directory / "seen";
  std::ofstream(browser) << "#!/bin/sh\nprintf '%s' \"$1\" >" << seen << "\n";
  ::chmod(browser.c_str(), 0755);
  const auto opened = kiln({"open", artifact, "--browser"}, {{"BROWSER", browser}});
  EXPECT_EQ(opened.exit, 0) << opened.err;
  std::ostringstream text;
  text << std::ifstream(seen).rdbuf();
  EXPECT_EQ(text.str() + "\n", view);
  const auto missing = kiln({"open", artifact, "--browser"}, {{"BROWSER", "/nowhere/browser"}});
  EXPECT_EQ(missing.exit, 7);
  EXPECT_EQ(missing.out, view) << "the URL is of use all the same";
}

}  // namespace
}  // namespace kiln
