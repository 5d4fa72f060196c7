// Models compiled for Vulkan: what the evidence states, and that a driver on the processor gives the bits of
// the processor's own program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

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
  // The artifact's folder. `exact`: nothing is fused, and sums have one order; else as the command line has
  // it.
  std::string compiled(const std::string& model, const std::string& target, bool exact = true) {
    CompileRequest wanted;
    wanted.model = model;
    wanted.target = *parseTarget(target);
    wanted.toolchainLib = KILN_TOOLCHAIN_LIB;
    wanted.contraction = !exact;
    wanted.reassociation = exact ? schedule::Reassociation::kOff : schedule::Reassociation::kDeterministic;
    wanted.out = directory_ / std::to_string(++count_);
    fs::create_directories(wanted.out);
    const auto result = compile(wanted);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return "";
    devices_ = result->devices;
    whyNot_ = std::set<std::string>();
    for (const KernelEvidence& kernel : result->schedule.kernels)
      if (kernel.device) {
        EXPECT_TRUE(kernel.device->mayDiffer) << kernel.symbol;
        whyNot_->insert(kernel.device->mayDiffer->begin(), kernel.device->mayDiffer->end());
      }
    CompileSpec spec;
    spec.files = {{"model.onnx", digestOf("model")}};
    spec.toolchainDigest = digestOf("toolchain");
    spec.target = wanted.target.name;
    spec.features = wanted.target.features;
    spec.profiles = {{"default", {}}};
    spec.numerics.contraction = exact ? "off" : "on";
    spec.numerics.reassociation = exact ? "off" : "deterministic";
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
  std::optional<std::set<std::string>> whyNot_;  // of all kernels
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

// What the manifest calls exact has the processor's bits, whatever the numerics; the rest stays near.
TEST_F(VulkanModel, KernelsSayWhetherTheyHaveTheProcessorsBits) {
  using Why = std::set<std::string>;
  const auto unary = [](const char* op) {
    OnnxBuilder model(17);
    model.input("x", {12, 64}).output("y");
    model.node(op, {"x"}, {"y"});
    return model;
  };
  const auto binary = [](const char* op) {
    OnnxBuilder model(17);
    model.input("x", {12, 64}).output("y");
    model.initializer(onnxTensor("w", {64, 64}, numbers(64 * 64, 1)));
    model.initializer(onnxTensor("row", {1, 64}, numbers(64, 2)));
    model.node(op, {"x", std::string(op) == "MatMul" ? "w" : "row"}, {"y"});
    return model;
  };
  const struct {
    std::string name;
    OnnxBuilder model;
    Why usual;  // with the command line's numerics
    Why exact;  // with nothing fused and one order of sums
  } cases[] = {
      {"Mul", binary("Mul"), {}, {}},
      {"Max", binary("Max"), {}, {}},
      {"Div", binary("Div"), {}, {}},
      {"Relu", unary("Relu"), {}, {}},
      {"Floor", unary("Floor"), {}, {}},
      {"Add", binary("Add"), {"contraction", "order"}, {}},
      {"MatMul", binary("MatMul"), {"contraction", "order"}, {}},
      {"ReduceSum", unary("ReduceSum"), {"contraction", "order"}, {}},
      {"ReduceProd", unary("ReduceProd"), {"order"}, {}},
      {"ReduceMax", unary("ReduceMax"), {}, {}},
      {"Softmax", unary("Softmax"), {"contraction", "order"}, {}},
      {"Tanh", unary("Tanh"), {"contraction"}, {}},
      {"Sin", unary("Sin"), {"contraction", "f64"}, {"f64"}},  // large arguments are reduced in f64
      {"Exp", unary("Exp"), {"contraction"}, {}},
  };
  const auto x = numbers(12 * 64, 7);
  std::vector<std::uint8_t> bytes(x.size() * sizeof(float));
  std::memcpy(bytes.data(), x.data(), bytes.size());
  const runtime::NamedTensor input{"x", {DType::kF32, {12, 64}, bytes}};
  for (const auto& [name, model, usual, exact] : cases)
    for (const bool isExact : {false, true}) {
      SCOPED_TRACE(name + (isExact ? ", exact" : ", usual"));
      const std::string path = save(model);
      const auto processor = run(compiled(path, "cpu:x86-64-v3", isExact), input);
      ASSERT_TRUE(processor) << why_;
      const std::string artifact = compiled(path, kVulkan, isExact);
      const Why why = *whyNot_;
      EXPECT_EQ(why, isExact ? exact : usual);
      const auto device = run(artifact, input);
      if (!device && why_.find("libvulkan") != std::string::npos) GTEST_SKIP() << why_;
      ASSERT_TRUE(device) << why_;
      const auto &mine = (*device)[0].tensor.data, &other = (*processor)[0].tensor.data;
      if (why.empty()) EXPECT_TRUE(mine == other);
      ASSERT_EQ(mine.size(), other.size());
      for (std::size_t at = 0; at + sizeof(float) <= mine.size(); at += sizeof(float)) {
        float a = 0, b = 0;
        std::memcpy(&a, mine.data() + at, sizeof a);
        std::memcpy(&b, other.data() + at, sizeof b);
        ASSERT_LE(std::abs(a - b), 1e-5f + 1e-3f * std::abs(b)) << at / sizeof(float);
      }
    }
}

TEST_F(VulkanModel, TheManifestSaysWhichKernelsHaveTheProcessorsBits) {
  const auto kernels = [&](bool exact) {
    const std::string artifact = compiled(KILN_MODELS "/digits_cnn.onnx", kVulkan, exact);
    std::ifstream file(artifact + "/manifest.json");
    const Json manifest = Json::parse(file);
    return manifest["stages"]["schedule"]["kernels"];
  };
  std::size_t same = 0, other = 0;
  for (const Json& kernel : kernels(false)) {
    const Json& device = kernel.at("device");
    ++(device.at("cpuBits").get<bool>() ? same : other);
    EXPECT_EQ(device.contains("mayDiffer"), !device.at("cpuBits").get<bool>());
  }
  EXPECT_GE(same, 2u) << "copies and pooling";
  EXPECT_GE(other, 4u) << "convolutions and the product";
  for (const Json& kernel : kernels(true)) EXPECT_TRUE(kernel.at("device").at("cpuBits").get<bool>());
  std::ifstream file(compiled(KILN_MODELS "/digits_cnn.onnx", "cpu:x86-64-v3") + "/manifest.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text.find("cpuBits"), std::string::npos) << "processors have nothing to say";
}

}  // namespace
}  // namespace kiln::driver
