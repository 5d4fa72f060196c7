// Artifact directories with kernels for a device, of whatever interface, and what tests do with them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "compiler_core/runtime/runtime.h"
#include "manifest/spec/target.h"
#include "tests/compiler_core/runtime/test_artifact.h"

namespace kiln::runtime::test {

// programs/device.c without its kernels, which come with the image of the device. Change `manifest` and call
// writeManifest() for another one.
class DeviceFolder : public ArtifactFolder {
 public:
  virtual ~DeviceFolder() = default;
  static constexpr std::uint64_t kArenaBytes = 2 * kRows * kColumns * sizeof(float);

  // Fixtures whose expected output is off by `error` in its last element.
  void writeFixtures(float error = 0) const {
    std::filesystem::create_directories(directory_ / "fixtures/default");
    auto y = expectedOutput(sampleInput());
    y.back() += error;
    ASSERT_TRUE(
        npy::write(directory_ / "fixtures/default/input_0.npy", floats({kRows, kColumns}, sampleInput())));
    ASSERT_TRUE(npy::write(directory_ / "fixtures/default/output_0.npy", floats({kRows, kColumns}, y)));
    write("fixtures/fixtures.json",
          R"({"version":"1","profiles":[{"name":"default","inputs":["default/input_0.npy"],)"
          R"("outputs":["default/output_0.npy"]}],"files":[)" +
              listed("default/input_0.npy") + "," + listed("default/output_0.npy") +
              R"(],"tolerance":{"rtol":"1e-3","atol":"1e-5"}})");
  }

 protected:
  // `host`: whose features its program asks of the processor.
  DeviceFolder(const std::string& program, const std::string& target, const std::string& host) {
    std::filesystem::copy_file(std::string(KILN_TEST_PROGRAMS) + "/" + program + ".so",
                               directory_ / "program.so");
    const auto w = sampleWeight();
    write("weights/0000.bin", {reinterpret_cast<const char*>(w.data()), w.size() * sizeof(float)});
    write("weights/0001.bin", "");
    manifest.spec = testing_support::sampleSpec();
    manifest.spec.pins.clear();
    manifest.spec.target = target;
    manifest.spec.features = parseTarget(host).value().features;
    manifest.spec.profiles = {{"default", {{"N", {kRows, kRows, kRows}}}}};
    manifest.programAbi = KILN_PROGRAM_ABI_DEVICES;
    manifest.symbols = {{.name = "N", .input = "x"}};
    manifest.inputs = {{"x", DType::kF32, {"N", kColumns}, {}}};
    manifest.outputs = {{"y", DType::kF32, {"N", kColumns}, {}}};
    manifest.profiles = {{.name = "default", .deviceArenaBytes = {kArenaBytes}}};
    manifest.program = {"program.so", kProgramMediaType, *digestOfFile(directory_ / "program.so")};
    for (const char* path : {"weights/0000.bin", "weights/0001.bin"})
      manifest.weights.push_back({path, kWeightsMediaType, *digestOfFile(directory_ / path)});
    manifest.weightSpaces = {1, 0};
    manifest.stages = Json::object();
    manifest.devices.resize(1);
    manifest.devices[0].target = target;
    manifest.devices[0].kernels = {"kiln_k0_scale"};
  }
};

inline std::vector<float> inputOf(float first) {
  auto values = sampleInput();
  values[0] = first;
  return values;
}
// x, as many rows of it as there are.
inline std::vector<NamedTensor> tensorsOf(const std::vector<float>& values) {
  return {{"x", floats({static_cast<std::int64_t>(values.size()) / kColumns, kColumns}, values)}};
}
inline Artifact open(const DeviceFolder& files) {
  auto artifact = Artifact::open(files.path());
  EXPECT_TRUE(artifact) << artifact.error().message;
  return std::move(*artifact);
}
inline Session sessionOf(const Artifact& artifact, const kiln_session_options& options) {
  auto session = Session::open(artifact, options);
  EXPECT_TRUE(session) << session.error().message;
  return std::move(*session);
}
inline void expectRight(Session& session, const std::vector<float>& x, float more = 0) {
  const auto outputs = session.run(tensorsOf(x));
  ASSERT_TRUE(outputs) << outputs.error().message;
  auto expected = expectedOutput(x);
  for (float& value : expected) value += more;
  EXPECT_EQ(valuesOf((*outputs)[0].tensor), expected);
}

}  // namespace kiln::runtime::test
