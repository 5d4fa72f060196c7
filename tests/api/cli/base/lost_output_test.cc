// Every command of `kiln` that prints something, with its output on a full disk.
#include <gtest/gtest.h>

#include <algorithm>

#include "manifest/json/json.h"
#include "storage/tree/digest_proto.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/node/signed_artifact.h"
#include "tests/api/support/fake_farm.h"

namespace kiln {
namespace {

using testing_support::jobIn;
using testing_support::runKiln;
using Words = std::vector<std::string>;

struct KilnLostOutput : testing::Test {
  testing_support::SignedArtifact artifact;
  testing_support::FakeFarm farm{artifact.farm.store};
  testing_support::TempDirectory directory;
  const std::string hash = artifact.farm.artifact.text();

  void SetUp() override {
    artifact.writeTrust(directory.path());
    v1::Artifact row;
    row.set_digest(hash);
    *row.mutable_manifest() = toProto(artifact.ref.artifact);
    *row.add_bundles() = toProto(artifact.ref.bundles[0]);
    farm.script.artifacts[hash] = row;
    farm.script.watch = {jobIn(v1::JOB_RUNNING, 1), jobIn(v1::JOB_SUCCEEDED, 2)};
    farm.script.jobs = {farm.script.watch.back()};
    auto& toolchain = farm.script.toolchains.emplace_back();
    toolchain.set_label("kiln-test");
    toolchain.mutable_toolchain_digest()->set_hash(std::string(64, 'b'));
    farm.script.workers.add_workers()->mutable_description()->set_name("w1");
    farm.script.logs.add_logs()->set_text("stage: capture");
    ASSERT_EQ(kiln({"fetch", hash, "--out", "model"}, {}).exit, 0);
  }
  testing_support::KilnResult kiln(const Words& words, const testing_support::KilnStreams& streams) {
    std::map<std::string, std::string> environment{{"KILN_ENDPOINT", farm.endpoint()},
                                                   {"KILN_TRUST_ROOT", directory / "root.json"},
                                                   {"KILN_POLICY", directory / "policy.json"},
                                                   {"TMPDIR", directory.path()}};
    // The artifact of the script's job is in no index, so nothing about it can be verified.
    if (words.front() == "watch") environment.erase("KILN_TRUST_ROOT");
    return runKiln(words, environment, directory.path(), streams);
  }
};

TEST_F(KilnLostOutput, IsNeverExit0AndNeverASignal) {
  const std::vector<Words> commands = {{"jobs"},
                                       {"jobs", "job-1"},
                                       {"watch", "job-1"},
                                       {"cancel", "job-1"},
                                       {"logs", "job-1"},
                                       {"workers"},
                                       {"toolchain", "list"},
                                       {"toolchain", "show", "kiln-test"},
                                       {"gc", "--dry-run"},
                                       {"verify", "model"},
                                       {"verify", hash},
                                       {"show", "model"},
                                       {"provenance", "model"},
                                       {"provenance", "model", "--format", "svg"},
                                       {"provenance", "model", "--format", "dot"},
                                       {"trust", "show", "root.json"},
                                       {"diff", "model", "model"},
                                       {"--help"},
                                       {"--version"}};
  for (Words words : commands) {
    for (const bool json : {false, true}) {
      if (json && std::ranges::any_of(words, [](const std::string& word) { return word.starts_with("-"); }))
        continue;
      if (json) words.push_back("--json");
      const std::string line = testing::PrintToString(words);
      const auto well = kiln(words, {});
      ASSERT_EQ(well.exit, 0) << line << well.err << well.out;
      ASSERT_NE(well.out, "") << line << ": prints nothing";
      const auto lost = kiln(words, {.out = "/dev/full"});
      EXPECT_EQ(lost.exit, 7) << line << lost.err;
      EXPECT_NE(lost.err.find("kiln: error: standard output: "), std::string::npos) << line << lost.err;
    }
  }
}

// The error of the command is what the exit code tells; with --json it was printed on what is full.
TEST_F(KilnLostOutput, AFailureKeepsItsExitCode) {
  for (const Words& words : {Words{"jobs", "nobody"}, Words{"jobs", "nobody", "--json"}}) {
    EXPECT_EQ(kiln(words, {}).exit, 6);
    EXPECT_EQ(kiln(words, {.out = "/dev/full"}).exit, 6);
  }
}

// What goes to a full standard error must not end the work: the artifact line is on standard output.
TEST_F(KilnLostOutput, LostProgressEndsNoJob) {
  const auto watched = kiln({"watch", "job-1"}, {.err = "/dev/full"});
  EXPECT_EQ(watched.lastLine(), "artifact sha256:" + std::string(64, 'a'));
  EXPECT_EQ(watched.exit, 7);
}

}  // namespace
}  // namespace kiln
