// Artifact directories with kernels for a Vulkan device, and the device of this machine with the validation
// layer on, for tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "compiler_core/runtime/device/vulkan_info.h"
#include "manifest/base/run_program.h"
#include "tests/compiler_core/runtime/device/device_folder.h"
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

// The loader in front of this machine's.
class FaultyLoader {
 public:
  // Why there is no device, or no assembler of its kernels, in words; else "".
  static std::string missing() {
    if (std::string(KILN_SPIRV_AS).empty()) return "no spirv-as here: install spirv-tools";
    const auto devices = listVulkanDevices(KILN_FAULTY_VULKAN);
    return devices ? "" : "no Vulkan device here: " + devices.error().message;
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
  static std::uint64_t cacheGiven() {
    return function<decltype(&kiln_faulty_vulkan_cache_given)>("kiln_faulty_vulkan_cache_given")();
  }
  static void fault(const char* name) { ::setenv("KILN_EMULATED_VULKAN_FAULT", name, 1); }

 private:
  template <class F>
  static F function(const char* name) {
    void* const library = ::dlopen(KILN_FAULTY_VULKAN, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<F>(::dlsym(library, name));
  }
};

// Skips, in words, where there is no assembler or no Vulkan device; fails when the validation layer had
// something to say.
class VulkanTest : public testing::Test, protected FaultyLoader {
 protected:
  void SetUp() override {
    fault("");
    if (const std::string why = missing(); !why.empty()) GTEST_SKIP() << why;
    device_ = listVulkanDevices(KILN_FAULTY_VULKAN)->front();
    (void)messages();
  }
  void TearDown() override {
    fault("");
    std::string first;
    EXPECT_EQ(messages(&first), 0u) << first;
  }

  DeviceInfo device_;
};

// programs/device.c and its kernels as SPIR-V.
class VulkanTestArtifact : public DeviceFolder {
 public:
  explicit VulkanTestArtifact(const std::string& program = "device",
                              const std::string& module = assemble(kernelText()))
      : DeviceFolder(program, "vulkan:1.3", kHostTarget) {
    DeviceImageInfo& device = manifest.devices[0];
    device.arch = "1.3";
    device.driver = "1.3";
    device.computeCapability = "1.6";
    writeModule(module);
  }

  void writeModule(const std::string& module) {
    write("kernels/vulkan1.3.spv", module);
    manifest.devices[0].image = {"kernels/vulkan1.3.spv", kSpirvMediaType, digestOf(module)};
    writeManifest();
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
