// `kiln run` and `kiln warmup` on a signed artifact whose program is a hand-written one: y = 2x + w, 8 rows
// of 256.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "api/node/kiln_node.h"
#include "tests/api/cli/signed_program.h"

namespace kiln {
namespace {

using runtime::test::expectedOutput;
using runtime::test::floats;
using runtime::test::kColumns;
using runtime::test::kRows;
using runtime::test::sampleInput;

using KilnRun = testing_support::SignedProgram;

// The same directory through the C API, as a node that is no command line uses it.
TEST_F(KilnRun, TheNodeLibraryOpensItInC) {
  const std::string directoryName = artifact.path(), root = directory / "root.json",
                    policy = directory / "policy.json";
  kiln_node* node = nullptr;
  char* message = nullptr;
  ASSERT_EQ(kiln_node_open(directoryName.c_str(), nullptr, root.c_str(), policy.c_str(), &node, &message), 0)
      << message;
  EXPECT_EQ(kiln_node_digest(node), digestOfFile(artifact / "artifact.json")->text());
  EXPECT_EQ(kiln_node_recheck(node, root.c_str(), policy.c_str(), nullptr, &message), 0) << message;
  const std::array<std::pair<const char*, std::array<const char*, 3>>, 3> forgotten{
      {{"trust_root", {"", policy.c_str(), nullptr}},
       {"policy", {root.c_str(), "", nullptr}},
       {"recalls", {root.c_str(), policy.c_str(), ""}}}};
  for (const auto& [argument, given] : forgotten) {
    ASSERT_EQ(kiln_node_recheck(node, given[0], given[1], given[2], &message),
              static_cast<int>(Code::kInvalidArgument))
        << argument;
    EXPECT_TRUE(std::string(message).starts_with(std::string(argument) + " is \"\"")) << message;
    kiln_node_free_message(message);
  }
  kiln_session* session = nullptr;
  EXPECT_EQ(kiln_session_open(kiln_node_artifact(node), nullptr, &session), nullptr);
  kiln_session_close(session);
  kiln_node_close(node);
}

TEST_F(KilnRun, WarmupRunsTheFixturesAndSaysReady) {
  const auto result = kiln({"warmup", artifact.path(), "--threads", "2"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(result.out.rfind("ready: cpu:x86-64-v3", 0), 0u) << result.out;
  EXPECT_NE(result.out.find("warmup "), std::string::npos);
  const auto json = parseJson(kiln({"warmup", artifact.path(), "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("ready"), true);
}

TEST_F(KilnRun, AFixtureOutsideItsToleranceIsExit10) {
  artifact.writeFixtures(1.0f);
  EXPECT_EQ(kiln({"warmup", artifact.path()}).exit, 5) << "not the fixtures that are signed";
  sign();
  const auto result = kiln({"warmup", artifact.path()});
  EXPECT_EQ(result.exit, 10) << result.err;
}

TEST_F(KilnRun, ADeviceIsNamedForKernelsOfDevicesOnly) {
  for (const std::vector<std::string>& device :
       {std::vector<std::string>{"--device", "0"}, {"--device-driver", "libcuda.so.1"}})
    for (std::vector<std::string> words : {std::vector<std::string>{"warmup", artifact.path()},
                                           {"run", artifact.path(), "--input", "x=x.npy"}}) {
      words.insert(words.end(), device.begin(), device.end());
      const auto refused = kiln(words);
      EXPECT_EQ(refused.exit, 2) << words[0] << device[0];
      EXPECT_NE(refused.err.find(device[0] + ": "), std::string::npos) << refused.err;
    }
}

TEST_F(KilnRun, WritesOutputs) {
  const auto result = kiln({"run", artifact.path(), "--input", "x=x.npy", "--output-dir", "out"});
  EXPECT_EQ(result.exit, 0) << result.err;
  const auto y = npy::read(directory / "out/y.npy");
  ASSERT_TRUE(y);
  EXPECT_EQ(*y, floats({kRows, kColumns}, expectedOutput(sampleInput())));
}

TEST_F(KilnRun, OutputsGoThroughNoLinkAndWaitForNobody) {
  const std::vector<std::string> run{"run", artifact.path(), "--input", "x=x.npy", "--output-dir", "out"};
  std::filesystem::create_directory(directory / "out");
  std::filesystem::create_symlink(directory / "x.npy", directory / "out/y.npy");
  const auto before = npy::read(directory / "x.npy").value();
  EXPECT_EQ(kiln(run).exit, 2);
  EXPECT_EQ(npy::read(directory / "x.npy").value(), before);
  std::filesystem::remove(directory / "out/y.npy");
  ASSERT_EQ(::mkfifo((directory / "out/y.npy").c_str(), 0600), 0);
  EXPECT_EQ(kiln(run).exit, 2);
  std::filesystem::remove_all(directory / "out");
  std::filesystem::create_directory(directory / "elsewhere");
  std::filesystem::create_directory_symlink(directory / "elsewhere", directory / "out");
  EXPECT_EQ(kiln(run).exit, 2);
  EXPECT_TRUE(std::filesystem::is_empty(directory / "elsewhere"));
}

TEST_F(KilnRun, AWrongShapeNamesInputExpectedAndGiven) {
  save("wrong.npy", floats({kColumns, kRows}, sampleInput()));
  const auto result = kiln({"run", artifact.path(), "--input", "x=wrong.npy"});
  EXPECT_EQ(result.exit, 2);
  EXPECT_EQ(result.err, "kiln: error: input \"x\": expected f32 [N,256], given f32 [256,8]\n");
  auto doubles = floats({kRows, kColumns}, sampleInput());
  doubles.dtype = DType::kI32;
  save("ints.npy", doubles);
  EXPECT_NE(kiln({"run", artifact.path(), "--input", "x=ints.npy"}).err.find("given i32 [8,256]"),
            std::string::npos);
}

TEST_F(KilnRun, InputsAreNamed) {
  const auto missing = kiln({"run", artifact.path()});
  EXPECT_EQ(missing.exit, 2);
  EXPECT_NE(missing.err.find("--input x=file.npy with f32 [N,256]"), std::string::npos) << missing.err;
  EXPECT_NE(kiln({"run", artifact.path(), "--input", "z=x.npy"}).err.find("takes x"), std::string::npos);
  EXPECT_EQ(kiln({"run", artifact.path(), "--input", "x=x.npy", "--input", "x=x.npy"}).exit, 2);
  EXPECT_EQ(kiln({"run", artifact.path(), "--input", "x=none.npy"}).exit, 6);
}

TEST_F(KilnRun, EachRunsPerElementAndStacks) {
  std::vector<float> three;
  for (int i = 0; i < 3; ++i) {
    for (const float value : sampleInput()) three.push_back(value + static_cast<float>(i));
  }
  save("three.npy", floats({3, kRows, kColumns}, three));
  EXPECT_NE(kiln({"run", artifact.path(), "--input", "x=three.npy"}).err.find("--each"), std::string::npos);
  const auto result =
      kiln({"run", artifact.path(), "--input", "x=three.npy", "--each", "--output-dir", "out"});
  EXPECT_EQ(result.exit, 0) << result.err;
  const auto y = npy::read(directory / "out/y.npy");
  ASSERT_TRUE(y);
  EXPECT_EQ(*y, floats({3, kRows, kColumns}, expectedOutput(three)));
}

TEST_F(KilnRun, LabelsGivePredictionsAndAccuracy) {
  const auto y = expectedOutput(sampleInput());
  npy::Tensor labels{DType::kI64, {kRows}, {}};
  std::string predicted;
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < kColumns; ++i) {
      if (y[row * kColumns + i] > y[row * kColumns + best]) best = i;
    }
    predicted += " " + std::to_string(best);
    const std::int64_t label = row == 0 ? best + 1 : best;  // one is wrong
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&label);
    labels.data.insert(labels.data.end(), bytes, bytes + sizeof label);
  }
  save("labels.npy", labels);
  const auto result = kiln({"run", artifact.path(), "--input", "x=x.npy", "--labels", "labels.npy"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(result.out, "predictions" + predicted + "\naccuracy 7/8 = 0.8750\n");
  const auto json =
      parseJson(kiln({"run", artifact.path(), "--input", "x=x.npy", "--labels", "labels.npy", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("correct"), 7);
  EXPECT_EQ(json->at("counters").at("runs"), 1);
  EXPECT_EQ(kiln({"run", artifact.path(), "--input", "x=x.npy", "--labels", "x.npy"}).exit, 2);
}

TEST_F(KilnRun, ProfileNamesKernelsAndTheirNodes) {
  artifact.manifest.stages["schedule"] = {
      {"kernels", Json::array({{{"symbol", "row"}, {"nodes", {"double", "add"}}}})}};
  artifact.writeManifest();
  sign();
  const auto result = kiln({"run", artifact.path(), "--input", "x=x.npy", "--profile"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.out.find("8  row (double, add)\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("outside kernels"), std::string::npos);
  const auto json =
      parseJson(kiln({"run", artifact.path(), "--input", "x=x.npy", "--profile", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("kernels").at(0).at("nodes"), Json({"double", "add"}));
  EXPECT_EQ(json->at("kernels").at(0).at("tasks"), 8);
}

TEST_F(KilnRun, AnOutputThatNoFileIsCalledLikeIsNamedBesideItsFile) {
  artifact.manifest.outputs[0].name = "y:0";
  artifact.writeManifest();
  sign();
  const std::vector<std::string> run = {"run", artifact.path(), "--input", "x=x.npy", "--output-dir", "out"};
  const auto result = kiln(run);
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.err.find("wrote out/y_0.npy, the output \"y:0\"\n"), std::string::npos) << result.err;
  auto asJson = run;
  asJson.emplace_back("--json");
  const auto json = parseJson(kiln(asJson).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("outputs").at(0).at("file"), "out/y_0.npy");
}

TEST_F(KilnRun, ASizeOutsideEveryProfileIsNamed) {
  save("two.npy", floats({2, kColumns}, std::vector<float>(2 * kColumns)));
  const auto result = kiln({"run", artifact.path(), "--input", "x=two.npy"});
  EXPECT_NE(result.exit, 0);
  EXPECT_NE(result.err.find("N is 2; profile default takes N = 8"), std::string::npos) << result.err;
}

TEST_F(KilnRun, ADirectoryThatOthersMayChangeStillRuns) {
  std::filesystem::permissions(artifact / "weights", std::filesystem::perms(0777));
  const auto result = kiln({"warmup", artifact.path()});
  EXPECT_EQ(result.exit, 0) << result.err;
}

struct KilnRunCounted : testing_support::SignedProgramOf<runtime::test::CountingArtifact> {
  void SetUp() override {
    SignedProgramOf::SetUp();
    auto x = sampleInput();
    x[4] = x[7] = runtime::test::kFar;
    x[9] = -runtime::test::kFar;
    save("far.npy", floats({kRows, kColumns}, x));
  }
};

TEST_F(KilnRunCounted, IndicesOutsideTheirDimensionAreAWarningByNode) {
  const auto within = kiln({"run", artifact.path(), "--input", "x=x.npy", "--checked"});
  EXPECT_EQ(within.exit, 0) << within.err;
  EXPECT_EQ(within.err, "");
  const auto result = kiln({"run", artifact.path(), "--input", "x=far.npy"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.err.find("warning: 3 indices are outside their dimension"), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("2 at node \"lookup\""), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("1 at node \"place\""), std::string::npos) << result.err;
  const auto json = parseJson(kiln({"run", artifact.path(), "--input", "x=far.npy", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("counters").at("outOfRangeIndices"), 3);
  EXPECT_EQ(json->at("outOfRangeIndices"),
            Json::parse(R"([{"node":"lookup","indices":2},{"node":"place","indices":1}])"));
}

TEST_F(KilnRunCounted, CheckedMakesThemExit10) {
  for (const char* how : {"--threads=2", "--isolated"}) {
    const auto result = kiln({"run", artifact.path(), "--input", "x=far.npy", "--checked", how});
    EXPECT_EQ(result.exit, 10) << how << ": " << result.err;
    EXPECT_NE(result.err.find("kiln: error: 3 indices are outside their dimension"), std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find("2 at node \"lookup\""), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace kiln
