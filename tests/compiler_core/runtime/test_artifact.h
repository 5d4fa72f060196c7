// Artifact directories around the hand-written programs, for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "compiler_core/runtime/npy/npy.h"
#include "compiler_core/runtime/program_abi.h"
#include "manifest/artifact/manifest.h"
#include "manifest/artifact/media_types.h"
#include "tests/support/sample_spec.h"
#include "tests/support/temp_directory.h"

namespace kiln::runtime::test {

inline constexpr std::int64_t kRows = 8, kColumns = 256;

inline npy::Tensor floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  npy::Tensor tensor{DType::kF32, std::move(shape), std::vector<std::uint8_t>(values.size() * sizeof(float))};
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

inline std::vector<float> valuesOf(const npy::Tensor& tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

inline std::vector<float> sampleInput() {
  std::vector<float> values;
  for (int i = 0; i < kRows * kColumns; ++i) values.push_back(static_cast<float>(i % 97) * 0.25f - 3.0f);
  return values;
}
inline std::vector<float> sampleWeight() {
  std::vector<float> values;
  for (int i = 0; i < kColumns; ++i) values.push_back(static_cast<float>(i) * 0.125f);
  return values;
}
// What programs/good.c computes.
inline std::vector<float> expectedOutput(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  const auto w = sampleWeight();
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = 2.0f * x[i] + w[i % kColumns];
  return y;
}

// A directory as `kiln fetch` leaves it. Change `manifest` and call writeManifest() for a bad one.
class ArtifactFolder {
 public:
  std::string path() const { return directory_.path(); }
  std::string operator/(const std::string& name) const { return directory_ / name; }

  void write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(directory_ / name).parent_path());
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
  }
  void writeManifest() const { write("manifest.json", toCanonicalJson(manifest.toJson()).value()); }

  Manifest manifest;

 protected:
  // A file below fixtures/ as fixtures.json lists it.
  std::string listed(const std::string& fixture) const {
    const Digest digest = digestOfFile(directory_ / ("fixtures/" + fixture)).value();
    return R"({"path":")" + fixture + R"(","digest":")" + digest.text() + R"(","size":")" +
           std::to_string(digest.size) + R"("})";
  }
  testing_support::TempDirectory directory_;
};

// One around a program of programs/.
class TestArtifact : public ArtifactFolder {
 public:
  explicit TestArtifact(const std::string& program = "good") {
    std::filesystem::create_directories(directory_ / "weights");
    std::filesystem::copy_file(std::string(KILN_TEST_PROGRAMS) + "/" + program + ".so",
                               directory_ / "program.so");
    write("weights/0000.bin", bytesOf(sampleWeight()));
    write("weights/0001.bin", "");
    manifest.spec = testing_support::sampleSpec();
    manifest.spec.pins.clear();
    manifest.programAbi = KILN_PROGRAM_ABI;
    manifest.symbols = {{.name = "N", .input = "x"}};
    manifest.inputs = {{"x", DType::kF32, {"N", kColumns}, {}}};
    manifest.outputs = {{"y", DType::kF32, {"N", kColumns}, {}}, {"state", DType::kU32, {kRows + 1}, {}}};
    manifest.spec.profiles = {{"default", {{"N", {kRows, kRows, kRows}}}}};
    manifest.profiles = {{"default", kRows * kColumns * sizeof(float), kColumns * sizeof(float)}};
    manifest.program = {"program.so", kProgramMediaType, *digestOfFile(directory_ / "program.so")};
    for (const char* path : {"weights/0000.bin", "weights/0001.bin"}) {
      manifest.weights.push_back({path, kWeightsMediaType, *digestOfFile(directory_ / path)});
    }
    manifest.stages = Json::object();
    writeManifest();
  }

  // Fixtures whose expected output is off by `error` in its last element.
  void writeFixtures(float error = 0) const {
    std::filesystem::create_directories(directory_ / "fixtures/default");
    auto y = expectedOutput(sampleInput());
    y.back() += error;
    ASSERT_TRUE(
        npy::write(directory_ / "fixtures/default/input_0.npy", floats({kRows, kColumns}, sampleInput())));
    ASSERT_TRUE(npy::write(directory_ / "fixtures/default/output_0.npy", floats({kRows, kColumns}, y)));
    npy::Tensor state{DType::kU32, {kRows + 1}, {}};
    for (int i = 0; i <= kRows; ++i) state.data.insert(state.data.end(), {0x80, 0x1f, 0, 0});
    ASSERT_TRUE(npy::write(directory_ / "fixtures/default/output_1.npy", state));
    write("fixtures/fixtures.json",
          R"({"version":"1","profiles":[{"name":"default","inputs":["default/input_0.npy"],)"
          R"("outputs":["default/output_0.npy","default/output_1.npy"]}],"files":[)" +
              listed("default/input_0.npy") + "," + listed("default/output_0.npy") + "," +
              listed("default/output_1.npy") + R"(],"tolerance":{"rtol":"1e-3","atol":"1e-5"}})");
  }

 private:
  static std::string bytesOf(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }
};

// One whose program counts indices outside their dimension: each kFar in x is one of "lookup", each -kFar one
// of "place".
inline constexpr float kFar = 1000000;
struct CountingArtifact : TestArtifact {
  CountingArtifact() : TestArtifact("counts") {
    manifest.indexChecks = {"lookup", "place"};
    writeManifest();
  }
};

}  // namespace kiln::runtime::test
