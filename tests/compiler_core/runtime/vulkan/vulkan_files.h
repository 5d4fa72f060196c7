// Artifact directories with kernels for a Vulkan device, and the device of this machine with the validation
// layer on, for tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "compiler_core/runtime/device/vulkan_info.h"
#include "compiler_core/runtime/runtime.h"
#include "manifest/base/run_program.h"
#include "manifest/spec/target.h"
#include "tests/compiler_core/runtime/test_artifact.h"
#include "tests/compiler_core/runtime/vulkan/faulty_vulkan.h"

namespace kiln::runtime::test {

// The text of kernels.spvasm.
inline std::string kernelText() {
  std::ifstream file(KILN_VULKAN_KERNELS);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// That with `from`, which must be in it, replaced.
inline std::string kernelText(const std::string& from, const std::string& to) {
  std::string text = kernelText();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// A module by spirv-as; "" where this machine has none.
inline std::string assemble(const std::string& text, const std::string& environment = "vulkan1.3") {
  if (std::string(KILN_SPIRV_AS).empty()) return "";
  testing_support::TempDirectory directory;
  std::ofstream(directory / "k.spvasm") << text;
  const auto run = runProgram(
      {KILN_SPIRV_AS, "--target-env", environment, directory / "k.spvasm", "-o", directory / "k.spv"},
      {.limit = std::chrono::seconds(60)});
  EXPECT_TRUE(run && run->exitCode == 0) << (run ? run->err : run.error().message);
  std::ifstream file(directory / "k.spv", std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// Skips, in words, where there is no assembler or no Vulkan device; fails when the validation layer had
// something to say.
class VulkanTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(KILN_SPIRV_AS).empty()) GTEST_SKIP() << "no spirv-as here: install spirv-tools";
    ::unsetenv("KILN_EMULATED_VULKAN_FAULT");
    const auto devices = listVulkanDevices(KILN_FAULTY_VULKAN);
    if (!devices) GTEST_SKIP() << "no Vulkan device here: " << devices.error().message;
    device_ = devices->front();
    (void)messages();
  }
  void TearDown() override {
    ::unsetenv("KILN_EMULATED_VULKAN_FAULT");
    std::string first;
    EXPECT_EQ(messages(&first), 0u) << first;
  }
  // What the validation layer has said since it was asked.
  static std::uint64_t messages(std::string* first = nullptr) {
    char text[4096] = {};
    const std::uint64_t count =
        function<decltype(&kiln_faulty_vulkan_messages)>("kiln_faulty_vulkan_messages")(text, sizeof text);
    if (first != nullptr) *first = text;
    return count;
  }
  static bool validates() {
    return function<decltype(&kiln_faulty_vulkan_validates)>("kiln_faulty_vulkan_validates")() != 0;
  }
  static void fault(const char* name) { ::setenv("KILN_EMULATED_VULKAN_FAULT", name, 1); }

  DeviceInfo device_;

 private:
  template <class F>
  static F function(const char* name) {
    void* const library = ::dlopen(KILN_FAULTY_VULKAN, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<F>(::dlsym(library, name));
  }
};

// programs/device.c and its kernels as SPIR-V. Change `manifest` and call writeManifest() for another one.
class VulkanTestArtifact : public ArtifactFolder {
 public:
  explicit VulkanTestArtifact(const std::string& program = "device",
                              const std::string& module = assemble(kernelText())) {
    const std::string programs = std::string(KILN_TEST_PROGRAMS) + "/";
    std::filesystem::copy_file(programs + program + ".so", directory_ / "program.so");
    const auto w = sampleWeight();
    write("weights/0000.bin", {reinterpret_cast<const char*>(w.data()), w.size() * sizeof(float)});
    write("weights/0001.bin", "");
    manifest.spec = testing_support::sampleSpec();
    manifest.spec.pins.clear();
    manifest.spec.target = "vulkan:1.3";
    manifest.spec.features = parseTarget(kHostTarget).value().features;
    manifest.spec.profiles = {{"default", {{"N", {kRows, kRows, kRows}}}}};
    manifest.programAbi = KILN_PROGRAM_ABI_DEVICES;
    manifest.symbols = {{.name = "N", .input = "x"}};
    manifest.inputs = {{"x", DType::kF32, {"N", kColumns}, {}}};
    manifest.outputs = {{"y", DType::kF32, {"N", kColumns}, {}}};
    manifest.profiles = {{.name = "default", .deviceArenaBytes = {kArenaBytes}}};
    manifest.program = {"program.so", kProgramMediaType, *digestOfFile(directory_ / "program.so")};
    DeviceImageInfo device;
    device.target = "vulkan:1.3";
    device.arch = "1.3";
    device.kernels = {"kiln_k0_scale"};
    device.driver = "1.3";
    device.computeCapability = "1.6";
    manifest.devices = {device};
    for (const char* path : {"weights/0000.bin", "weights/0001.bin"})
      manifest.weights.push_back({path, kWeightsMediaType, *digestOfFile(directory_ / path)});
    manifest.weightSpaces = {1, 0};
    manifest.stages = Json::object();
    writeModule(module);
  }

  static constexpr std::uint64_t kArenaBytes = 2 * kRows * kColumns * sizeof(float);

  void writeModule(const std::string& module) {
    write("kernels/vulkan1.3.spv", module);
    manifest.devices[0].image = {"kernels/vulkan1.3.spv", kSpirvMediaType, digestOf(module)};
    writeManifest();
  }

  void writeFixtures() const {
    std::filesystem::create_directories(directory_ / "fixtures/default");
    ASSERT_TRUE(
        npy::write(directory_ / "fixtures/default/input_0.npy", floats({kRows, kColumns}, sampleInput())));
    ASSERT_TRUE(npy::write(directory_ / "fixtures/default/output_0.npy",
                           floats({kRows, kColumns}, expectedOutput(sampleInput()))));
    write("fixtures/fixtures.json",
          R"({"version":"1","profiles":[{"name":"default","inputs":["default/input_0.npy"],)"
          R"("outputs":["default/output_0.npy"]}],"files":[)" +
              listed("default/input_0.npy") + "," + listed("default/output_0.npy") +
              R"(],"tolerance":{"rtol":"1e-3","atol":"1e-5"}})");
  }
};

inline kiln_session_options onVulkanDevice() {
  kiln_session_options options{};
  options.threads = 2;
  options.run_before_ready = 1;
  options.device_driver = KILN_FAULTY_VULKAN;
  return options;
}

}  // namespace kiln::runtime::test
