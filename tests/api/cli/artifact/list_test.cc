// kiln artifacts: what a farm's index lists, and a search in it.
#include <gtest/gtest.h>

#include "manifest/json/json.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/support/fake_farm.h"

namespace kiln {
namespace {

struct KilnArtifacts : testing::Test {
  testing_support::TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> store =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  testing_support::FakeFarm farm{*store};

  // In the order of their numbers, as the fake farm lists them.
  std::string add(int number, const std::string& model, const std::string& target) {
    std::string hash = std::to_string(number);
    hash.insert(0, 64 - hash.size(), '0');
    v1::Artifact& artifact = farm.script.artifacts["sha256:" + hash];
    artifact.set_digest("sha256:" + hash);
    artifact.add_models(model);
    artifact.set_target(target);
    artifact.set_toolchain_label("kiln-0.1.0");
    artifact.add_builders("worker-1");
    artifact.add_jobs("job" + std::to_string(number));
    return "sha256:" + hash;
  }
  testing_support::KilnResult kiln(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "artifacts");
    return testing_support::runKiln(arguments, {{"KILN_ENDPOINT", farm.endpoint()}}, directory.path());
  }
  std::vector<std::string> found(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const auto result = kiln(arguments);
    EXPECT_EQ(result.exit, 0) << result.err;
    std::vector<std::string> out;
    const auto json = parseJson(result.out);
    if (json)
      for (const auto& one : json->at("artifacts")) out.push_back(one.at("artifact"));
    return out;
  }
};

TEST_F(KilnArtifacts, ListsAPageAndGoesOnBehindIt) {
  std::vector<std::string> all;
  for (int i = 1; i <= 3; ++i) all.push_back(add(i, "m.onnx", "cpu:x86-64-v3"));
  EXPECT_EQ(found({}), all);
  EXPECT_EQ(found({"--limit", "2"}), (std::vector<std::string>{all[0], all[1]}));
  EXPECT_EQ(found({"--limit", "2", "--before", all[1]}), std::vector<std::string>{all[2]});
  const auto table = kiln({});
  for (const char* text : {"ARTIFACT", "MODEL", "sha256:000000000000", "m.onnx", "cpu:x86-64-v3", "worker-1"})
    EXPECT_NE(table.out.find(text), std::string::npos) << text << "\n" << table.out;
  EXPECT_EQ(kiln({"--limit", "0"}).exit, 2);
}

TEST_F(KilnArtifacts, FindsWhatHasEachWordHoweverFarBehind) {
  for (int i = 1; i <= 2500; ++i) add(i, "m.onnx", "cpu:x86-64-v3");
  const std::string far = add(2501, "models/Digits.onnx", "cpu:x86-64-v3");
  const std::string gpu = add(2502, "models/digits.onnx", "cuda:sm_90a");
  EXPECT_EQ(found({"digits"}), (std::vector<std::string>{far, gpu}));
  EXPECT_EQ(found({"DIGITS", "sm_90a"}), std::vector<std::string>{gpu});
  EXPECT_EQ(found({"job2501"}), std::vector<std::string>{far});
  EXPECT_EQ(found({gpu}), std::vector<std::string>{gpu});
  EXPECT_EQ(found({"digits", "--limit", "1"}), std::vector<std::string>{far});
  EXPECT_TRUE(found({"nothing"}).empty());
  EXPECT_EQ(found({"m.onnx", "--limit", "1000"}).size(), 1000u);
}

TEST_F(KilnArtifacts, HostileNamesDoNotReachTheTerminal) {
  add(1, "m\x1b[2J\n\xe2\x80\xae.onnx", "cpu:x86-64-v3\r");
  const auto table = kiln({});
  EXPECT_EQ(table.out.find_first_of("\x1b\r"), std::string::npos);
  EXPECT_EQ(table.out.find("\xe2\x80\xae"), std::string::npos);
  EXPECT_EQ(std::ranges::count(table.out, '\n'), 2);
}

}  // namespace
}  // namespace kiln
