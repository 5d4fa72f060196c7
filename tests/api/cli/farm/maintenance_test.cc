// `kiln gc`, and what `kiln jobs` tells of builders.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "manifest/json/json.h"
#include "storage/tree/digest_proto.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/support/fake_farm.h"

namespace kiln {
namespace {

using testing_support::jobIn;
using testing_support::runKiln;

struct KilnMaintenance : testing::Test {
  testing_support::TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> store =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  testing_support::FakeFarm farm{*store};
  const std::string artifact = "sha256:" + std::string(64, 'a');

  testing_support::KilnResult kiln(std::vector<std::string> arguments) {
    return runKiln(arguments, {{"KILN_ENDPOINT", farm.endpoint()}}, directory.path());
  }
};

TEST_F(KilnMaintenance, GcCollectsAndReports) {
  farm.script.garbage.set_removed_blobs(3);
  farm.script.garbage.set_removed_bytes(4096);
  farm.script.garbage.set_kept_blobs(7);
  farm.script.garbage.set_artifacts(1);
  farm.script.garbage.add_damaged("default sha256:00 (receipt)");
  auto result = kiln({"gc"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.out.find("removed 3 blobs"), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("receipt"), std::string::npos) << "damage is told";
  result = kiln({"gc", "--dry-run", "--grace", "36h", "--json"});
  EXPECT_EQ(result.exit, 0) << result.err;
  const auto report = parseJson(result.out);
  ASSERT_TRUE(report) << result.out;
  EXPECT_EQ(report->at("dryRun"), true);
  EXPECT_EQ(report->at("removedBlobs"), 3);
  EXPECT_EQ(report->at("damaged").size(), 1u);
  ASSERT_EQ(farm.script.collections.size(), 2u);
  EXPECT_FALSE(farm.script.collections[0].has_grace());
  EXPECT_TRUE(farm.script.collections[1].dry_run());
  EXPECT_EQ(farm.script.collections[1].grace().seconds(), 36 * 3600);
}

TEST_F(KilnMaintenance, GcRefusesWhatItDoesNotUnderstand) {
  for (const char* grace : {"", "12", "h", "0s", "-1h", "1w", "99999999d", "1h2"})
    EXPECT_EQ(kiln({"gc", std::string("--grace=") + (*grace ? grace : "x")}).exit, 2) << grace;
  EXPECT_EQ(kiln({"gc", "--tombstone", artifact}).exit, 2) << "a reason is needed";
  EXPECT_EQ(kiln({"gc", "--tombstone", artifact, "--reason", "r", "--dry-run"}).exit, 2);
  EXPECT_EQ(kiln({"gc", "--tombstone", "sha256:1", "--reason", "r"}).exit, 2);
  EXPECT_EQ(kiln({"gc", "--reason", "r"}).exit, 2) << "a forgotten --tombstone collects nothing";
  EXPECT_TRUE(farm.script.collections.empty());
  EXPECT_TRUE(farm.script.tombstones.empty());
}

TEST_F(KilnMaintenance, ATombstoneIsAskedForWithItsReason) {
  const auto result = kiln({"gc", "--tombstone", artifact, "--reason", "the licence ended"});
  EXPECT_EQ(result.exit, 0) << result.err;
  ASSERT_EQ(farm.script.tombstones.size(), 1u);
  EXPECT_EQ(farm.script.tombstones[0].artifact(), artifact);
  EXPECT_EQ(farm.script.tombstones[0].reason(), "the licence ended");
  EXPECT_TRUE(farm.script.collections.empty()) << "nothing is collected by that";
}

// Every place that takes an artifact: the first 12 digits lead to it, and digits without "sha256:" do not,
// with a word about what to give.
TEST_F(KilnMaintenance, AnArtifactMayBeNamedByItsFirstDigitsEverywhere) {
  *farm.script.artifacts[artifact].mutable_manifest() = toProto(*Digest::parse(artifact, 7));
  const std::string brief = artifact.substr(0, 7 + 12);
  const std::string out = directory / "out";
  const std::vector<std::vector<std::string>> commands = {
      {"fetch", "ARTIFACT", "--output-dir", out},
      {"show", "ARTIFACT"},
      {"verify", "ARTIFACT"},
      {"provenance", "ARTIFACT"},
      {"run", "ARTIFACT"},
      {"check", "ARTIFACT"},
      {"warmup", "ARTIFACT"},
      {"export", "ARTIFACT", "--oci", out},
      {"rebuild", "ARTIFACT"},
      {"log", "prove", "ARTIFACT"},
      {"gc", "--tombstone", "ARTIFACT", "--reason", "r"},
      {"affected", "--artifact", "ARTIFACT"},
      {"recall", "--artifact", "ARTIFACT", "--reason", "r", "--recalls", out},
  };
  for (const auto& command : commands) {
    const auto with = [&](const std::string& name) {
      auto words = command;
      std::ranges::replace(words, "ARTIFACT", name);
      return kiln(words);
    };
    for (const char* refusal : {"is no artifact", "is no digest", "not a SHA-256 digest"})
      EXPECT_EQ(with(brief).err.find(refusal), std::string::npos) << command[0] << ": " << with(brief).err;
    if (command[0] == "affected") continue;  // a farm's to judge
    EXPECT_NE(with(brief.substr(7)).exit, 0) << command[0];
    EXPECT_NE(with(artifact.substr(0, 7 + 11)).exit, 0) << command[0];
  }
  ASSERT_FALSE(farm.script.tombstones.empty());
  for (const auto& tombstone : farm.script.tombstones) EXPECT_EQ(tombstone.artifact(), artifact);
}

TEST_F(KilnMaintenance, JobsListsBuildersAndSavesWhatOneLeft) {
  v1::Job job = jobIn(v1::JOB_FAILED, 3);
  for (const char* worker : {"w1", "liar"}) {
    auto* builder = job.mutable_actions(0)->add_builders();
    builder->set_worker(worker);
    builder->set_operator_("acme");
    builder->set_outputs("sha256:" + std::string(64, *worker == 'w' ? '1' : '2'));
    builder->set_disputed(true);
  }
  farm.script.jobs = {job};
  auto result = kiln({"jobs", "job-1"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.out.find("liar"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("disputed"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("sha256:222222222222"), std::string::npos) << result.out;
  EXPECT_EQ(parseJson(kiln({"jobs", "job-1", "--json"}).out)->at("actions").at(0).at("builders").size(), 2u);

  *farm.script.outputs.mutable_builder() = job.actions(0).builders(1);
  auto* file = farm.script.outputs.add_files();
  file->set_path("weights/0000.bin");
  *file->mutable_digest() = toProto(storage::putBlob(*store, "default", asBytes("planted")).value());
  result = kiln({"jobs", "job-1", "--outputs", "liar", "--out", "left"});
  EXPECT_EQ(result.exit, 0) << result.err;
  std::ifstream saved(directory / "left/weights/0000.bin");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(saved), {}), "planted");
  EXPECT_NE(kiln({"jobs", "job-1", "--outputs", "liar", "--out", "left"}).exit, 0)
      << "never over what is there";
  EXPECT_EQ(kiln({"jobs", "job-1", "--outputs", "w9", "--out", "other"}).exit, 6);
  EXPECT_EQ(kiln({"jobs", "job-1", "--outputs", "liar"}).exit, 2);

  file->set_path("../outside");
  EXPECT_NE(kiln({"jobs", "job-1", "--outputs", "liar", "--out", "again"}).exit, 0);
  EXPECT_FALSE(std::filesystem::exists(directory / "outside"));
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    EXPECT_EQ(entry.path().filename().string().find("again"), std::string::npos) << entry.path().string();
}

TEST_F(KilnMaintenance, LogsPrintsWhatToolsWroteSafely) {
  const auto add = [&](v1::ActionKind kind, const char* worker, int exit, const std::string& text) -> auto& {
    v1::JobLogs::Log& log = *farm.script.logs.add_logs();
    log.set_kind(kind);
    log.mutable_builder()->set_worker(worker);
    log.mutable_builder()->set_exit_code(exit);
    log.mutable_builder()->set_job("job-1");
    log.set_text(text);
    return log;
  };
  add(v1::ACTION_REFERENCE, "w1", 0, "");
  add(v1::ACTION_COMPILE, "w2", 4, "stage:\tcapture\r\n\x1b]0;owned\x07 \xff\nlast")
      .set_target("cpu:x86-64-v3");
  auto& cut = add(v1::ACTION_COMPILE, "w3", 1, "");
  cut.set_truncated(true);
  cut.mutable_builder()->set_job("job-0");
  const auto all = kiln({"logs", "job-1"});
  EXPECT_EQ(all.exit, 0) << all.err;
  EXPECT_EQ(all.out,
            "reference on w1: exit code 0\n  (it said nothing)\n"
            "compile cpu:x86-64-v3 on w2: exit code 4\n  stage: capture\n  ?]0;owned? ?\n  last\n"
            "compile on w3: exit code 1, of job job-0\n  (the end of it)\n  (it said nothing)\n");
  EXPECT_EQ(kiln({"logs", "job-1", "--worker", "w1"}).out,
            "reference on w1: exit code 0\n  (it said nothing)\n");
  const auto json = parseJson(kiln({"logs", "job-1", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("logs").at(1).at("text"), "stage: capture\n?]0;owned? ?\nlast\n");
  EXPECT_EQ(json->at("logs").at(1).at("builder").at("worker"), "w2");
  EXPECT_EQ(kiln({"logs", "job-1", "--worker", "w9"}).exit, 6);

  farm.script.logs.clear_logs();
  auto& lost = add(v1::ACTION_COMPILE, "w1", 0, "");
  lost.set_attempt(1);
  lost.set_outcome("lost");
  lost.set_error("worker w1 was silent\x1b");
  auto& final = add(v1::ACTION_COMPILE, "w2", 0, "");
  final.set_attempt(2);
  final.set_outcome("final");
  auto& done = add(v1::ACTION_COMPILE, "w3", 0, "well\n");
  done.set_attempt(3);
  done.set_outcome("done");
  EXPECT_EQ(kiln({"logs", "job-1"}).out,
            "compile, attempt 1 on w1: lost: worker w1 was silent?\n"
            "  (no result, so nothing of what it said)\n"
            "compile, attempt 2 on w2: failed\n  (no result, so nothing of what it said)\n"
            "compile, attempt 3 on w3: exit code 0\n  well\n");
  EXPECT_EQ(kiln({"logs", "job-1", "--attempt", "3"}).out, "compile, attempt 3 on w3: exit code 0\n  well\n");
  EXPECT_EQ(parseJson(kiln({"logs", "job-1", "--json"}).out)->at("logs").at(0).at("outcome"), "lost");
  EXPECT_EQ(kiln({"logs", "job-1", "--attempt", "4"}).exit, 6);
  for (const char* attempt : {"0", "-1", "x", "99999999999"})
    EXPECT_EQ(kiln({"logs", "job-1", "--attempt", attempt}).exit, 2) << attempt;
  EXPECT_EQ(kiln({"logs"}).exit, 2);
}

TEST_F(KilnMaintenance, AMajorityNeedsThreeBuilders) {
  std::ofstream(directory / "model.onnx") << "m";
  EXPECT_EQ(kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3", "--builders", "2", "--majority"}).exit,
            2);
  EXPECT_TRUE(farm.script.submitted.empty());
}

}  // namespace
}  // namespace kiln
