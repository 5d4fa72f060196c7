// How every program of Kiln answers a command line that it cannot read.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temp_directory.h"

namespace kiln {
namespace {

struct Said {
  int exit = -1;
  std::string text;
};

Said run(const std::string& command) {
  Said said;
  std::FILE* pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "r");
  char buffer[4096];
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    said.text.append(buffer, got);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) said.exit = WEXITSTATUS(status);
  return said;
}

TEST(Programs, NameThemselvesInUsageErrorsAndSayWhoseHelpTellsMore) {
  const auto folder = std::filesystem::path(KILN_PROGRAM).parent_path();
  for (const std::string program :
       {"kiln", "kiln-signer", "kiln-log", "kiln-worker", "kiln-coordinator", "kiln-check", "kiln-fetcher",
        "kiln-rebuilder", "kiln-isolated", "kiln-measure"})
    for (const std::string words : {"", " --nonsense", " nonsense", " --nonsense=1 x"}) {
      if (program == "kiln-measure" && words.empty()) continue;  // asks for nothing, and is asked nothing
      const Said said = run((folder / program).string() + words);
      EXPECT_EQ(said.exit, 2) << program << words;
      EXPECT_TRUE(said.text.starts_with(program + ": error: ")) << said.text;
      EXPECT_NE(said.text.find(program, program.size()), std::string::npos) << said.text;
      EXPECT_NE(said.text.find(" --help"), std::string::npos) << said.text;
      EXPECT_EQ(run((folder / program).string() + " --help").exit, 0) << program;
    }
  EXPECT_TRUE(
      run((folder / "kiln-signer").string() + " serve").text.ends_with("see kiln-signer serve --help\n"));
}

// Such as --policy "$POLICY" where nobody has set POLICY: not the wish for none.
TEST(Programs, TakeNoOptionWithoutAValue) {
  const auto folder = std::filesystem::path(KILN_PROGRAM).parent_path();
  const struct {
    std::string words;
    std::vector<std::string> options;
  } cases[] = {
      {"kiln-coordinator --listen unix:/l --database dbname=d --store s --signer unix:/s --log-key k "
       "--worker-ca "
       "w --builder-id u",
       {"--policy", "--trust-root", "--access", "--quotas", "--sandbox-policy", "--cluster-policy",
        "--log-tiles", "--https"}},
      {"kiln-signer serve --listen unix:/l --key k --store s --worker-ca w --database dbname=d",
       {"--trust-root", "--records"}},
      {"kiln-signer make-root --key k --builder-id u --out o", {"--log-key", "--recall-key"}},
      {"kiln-log serve --key k --database dbname=d --tiles t", {"--witness", "--earlier-key"}},
      {"kiln-worker --coordinator unix:/c --certificate c --key k --state s",
       {"--tls-ca", "--fetch-hosts", "--fetch-ca-file", "--gpu-driver", "--executor"}},
  };
  for (const auto& each : cases)
    for (const std::string& option : each.options)
      for (const std::string empty : {" ''", "="}) {
        const Said said = run((folder / each.words).string() + " " + option + empty);
        EXPECT_EQ(said.exit, 2) << each.words << " " << option << empty;
        EXPECT_NE(said.text.find(option + " is empty; leave it out"), std::string::npos) << said.text;
      }
}

TEST(Programs, OfTheSignerAndTheLogNameTheFileThatTheyRefuse) {
  const testing_support::TempDirectory directory;
  const auto folder = std::filesystem::path(KILN_PROGRAM).parent_path();
  const std::string signer = (folder / "kiln-signer").string(), log = (folder / "kiln-log").string(),
                    key = directory / "key.pem", garbage = directory / "worker-ca.pem",
                    none = directory / "none", database = " --database host=/nonexistent";
  ASSERT_EQ(run(signer + " make-key --out " + key).exit, 0);
  ASSERT_EQ(run(log + " make-key --origin log.example --out " + (directory / "log")).exit, 0);
  std::ofstream(garbage) << "garbage";
  ::chmod(garbage.c_str(), 0600);
  const std::string serve =
      signer + " serve --listen unix:" + (directory / "s") + " --store " + directory.path() + database;
  for (const std::string& file : {garbage, none})
    for (const std::string& command :
         {signer + " public-key --key " + file, signer + " complete-root --root " + file,
          signer + " make-root --development --builder-id urn:x --out " + (directory / "r") + " --key " +
              file,
          signer + " make-root --development --builder-id urn:x --out " + (directory / "r") + " --key " +
              key + " --log-key " + file,
          serve + " --worker-ca " + garbage + " --key " + file,
          serve + " --key " + key + " --worker-ca " + file,
          log + " serve --tiles " + (directory / "t") + database + " --key " + (directory / "log") +
              " --earlier-key " + file}) {
      const Said said = run(command);
      EXPECT_EQ(said.exit, file == none ? 6 : 2) << command << said.text;
      EXPECT_NE(said.text.find(": error: "), std::string::npos) << said.text;
      const auto at = said.text.find(file);
      EXPECT_NE(at, std::string::npos) << command << said.text;
      EXPECT_EQ(said.text.find(file, at + 1), std::string::npos) << said.text;
    }
}

// Its start is part of every build: looking symbols up in the libraries of gRPC and libcurl would be most of
// it.
TEST(Programs, KilnStartsWithoutTheLibrariesOfGrpcAndCurl) {
  const Said loaded = run(std::string("LD_TRACE_LOADED_OBJECTS=1 '") + KILN_PROGRAM + "'");
  EXPECT_NE(loaded.text.find("libcrypto"), std::string::npos) << loaded.text;
  for (const char* library :
       {"libgrpc", "libabsl", "libprotobuf", "libcares", "libre2", "libcurl", "libldap"})
    EXPECT_EQ(loaded.text.find(library), std::string::npos) << loaded.text;
}

}  // namespace
}  // namespace kiln
