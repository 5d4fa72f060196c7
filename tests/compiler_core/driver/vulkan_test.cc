// Models compiled for Vulkan: what the evidence states, and that a driver on the processor gives the bits of
// the processor's own program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/evaluate_reference.h"
#include "compiler_core/runtime/runtime.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::driver {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;
using ::testing::HasSubstr;

constexpr char kVulkan[] = "vulkan:1.3";

std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / 16777216.0f - 0.5f;
  }
  return values;
}

// Products, sums, quotients, roots and functions, with numbers that stay far from the smallest.
OnnxBuilder functions() {
  OnnxBuilder model(17);
  model.input("x", {12, 64}).output("y").output("z").output("v");
  model.initializer(onnxTensor("w", {64, 64}, numbers(64 * 64, 1)));
  model.initializer(onnxTensor("three", {1}, std::vector<float>{3.7f}));
  model.node("MatMul", {"x", "w"}, {"p"}).node("Softmax", {"p"}, {"y"});
  model.node("Erf", {"p"}, {"e"}).node("Tanh", {"e"}, {"t"}).node("Div", {"t", "three"}, {"d"});
  model.node("Sin", {"p"}, {"s"}).node("Add", {"s", "d"}, {"z"});
  model.node("Mul", {"p", "p"}, {"q"}).node("Add", {"q", "three"}, {"r"}).node("Sqrt", {"r"}, {"u"});
  model.node("Log", {"u"}, {"v"});
  return model;
}

class VulkanModel : public ::testing::Test {
 protected:
  // The artifact's folder.
  std::string compiled(const std::string& model, const std::string& target) {
    CompileRequest wanted;
    wanted.model = model;
    wanted.target = *parseTarget(target);
    wanted.toolchainLib = KILN_TOOLCHAIN_LIB;
    wanted.contraction = false;
    wanted.reassociation = schedule::Reassociation::kOff;
    wanted.out = directory_ / std::to_string(++count_);
    fs::create_directories(wanted.out);
    const auto result = compile(wanted);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return "";
    devices_ = result->devices;
    CompileSpec spec;
    spec.files = {{"model.onnx", digestOf("model")}};
    spec.toolchainDigest = digestOf("toolchain");
    spec.target = wanted.target.name;
    spec.features = wanted.target.features;
    spec.profiles = {{"default", {}}};
    spec.numerics.contraction = "off";
    spec.numerics.reassociation = "off";
    const Status written = writeDocuments(spec, *result, wanted.out);
    EXPECT_TRUE(written) << written.error().message;
    return wanted.out;
  }

  std::string save(const OnnxBuilder& model) {
    const std::string path = directory_ / "model.onnx";
    std::ofstream(path, std::ios::binary) << model.build();
    return path;
  }

  // Nothing where no driver of Vulkan is installed.
  std::optional<std::vector<runtime::NamedTensor>> run(const std::string& artifact,
                                                       const runtime::NamedTensor& x) {
    const auto opened = runtime::Artifact::open(artifact);
    EXPECT_TRUE(opened) << opened.error().message;
    auto session = runtime::Session::open(*opened, {.threads = 1, .run_before_ready = 1});
    if (!session) {
      why_ = session.error().message;
      return std::nullopt;
    }
    auto outputs = session->run({x});
    EXPECT_TRUE(outputs) << outputs.error().message;
    if (!outputs) return std::nullopt;
    return std::move(*outputs);
  }

  TempDirectory directory_;
  std::vector<DeviceEvidence> devices_;
  std::string why_;
  int count_ = 0;
};

TEST_F(VulkanModel, TheEvidenceNamesItsModule) {
  const std::string first = compiled(KILN_MODELS "/digits_cnn.onnx", kVulkan);
  ASSERT_EQ(devices_.size(), 1u);
  const DeviceEvidence& device = devices_[0];
  EXPECT_EQ(device.target, kVulkan);
  EXPECT_EQ(device.arch, "1.3");
  EXPECT_EQ(device.path, "kernels/vulkan-1.3.spv");
  EXPECT_EQ(device.driver, "1.3");
  EXPECT_EQ(device.computeCapability, "1.6");
  EXPECT_GE(device.kernels.size(), 3u);
  EXPECT_TRUE(fs::exists(first + "/" + device.path));
  const Digest image = device.image;
  compiled(KILN_MODELS "/digits_cnn.onnx", kVulkan);
  EXPECT_EQ(devices_.at(0).image, image) << "the same bytes each time";
}

TEST_F(VulkanModel, AnEmulationIsRefused) {
  CompileRequest wanted;
  wanted.model = KILN_MODELS "/digits_cnn.onnx";
  wanted.target = *parseTarget(kVulkan);
  wanted.toolchainLib = KILN_TOOLCHAIN_LIB;
  wanted.out = directory_ / "out";
  CompileObserver observer;
  observer.emulation = directory_ / "emulation";
  for (const std::string& path : {wanted.out, observer.emulation}) fs::create_directories(path);
  const auto refused = compile(wanted, observer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message, HasSubstr("target vulkan:1.3 has no emulation"));
}

TEST_F(VulkanModel, ResultsHaveTheProcessorsBits) {
  const std::pair<std::string, std::string> models[] = {{save(functions()), "x"},
                                                        {KILN_MODELS "/digits_cnn.onnx", "image"}};
  for (const auto& [model, name] : models) {
    const auto reference = evaluateReference(model, {}, {}, {}, 1);
    ASSERT_TRUE(reference) << reference.error().message;
    const auto& x = reference->inputValues[0];
    const runtime::NamedTensor input{name, {x.dtype, x.shape, x.bytes}};
    const auto processor = run(compiled(model, "cpu:x86-64-v3"), input);
    ASSERT_TRUE(processor) << why_;
    const auto device = run(compiled(model, kVulkan), input);
    if (!device && why_.find("libvulkan") != std::string::npos) GTEST_SKIP() << why_;
    ASSERT_TRUE(device) << why_;
    ASSERT_EQ(device->size(), processor->size());
    for (std::size_t i = 0; i < device->size(); ++i)
      EXPECT_TRUE((*device)[i].tensor.data == (*processor)[i].tensor.data)
          << model << ", " << (*device)[i].name;
  }
}

}  // namespace
}  // namespace kiln::driver
