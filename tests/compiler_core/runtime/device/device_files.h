// Artifact directories with kernels for the emulated device, for tests.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "compiler_core/runtime/emulated/statistics.h"
#include "tests/compiler_core/runtime/device/device_folder.h"

namespace kiln::runtime::test {

// Sets a variable of the environment for a scope.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const std::string name_;
};

// The least that is an ELF file for elfBytes(): a header, and a section's with `mark` in it.
inline std::string fakeCubin(char mark) {
  std::string bytes(128, '\0');
  bytes.replace(0, 6,
                "\x7f"
                "ELF\x02\x01");
  bytes[18] = static_cast<char>(190);  // e_machine: CUDA
  bytes[40] = 64;                      // e_shoff
  bytes[58] = 64, bytes[60] = 1;       // e_shentsize, e_shnum
  bytes[64] = mark;                    // sh_name
  return bytes;
}

// programs/device.c and its kernels for the emulated device.
class DeviceTestArtifact : public DeviceFolder {
 public:
  explicit DeviceTestArtifact(const std::string& program = "device", char mark = 'a')
      : DeviceFolder(program, "cuda:sm_90a", "cuda:sm_90a"),
        kernels_("KILN_EMULATED_KERNELS", emulation_.path()) {
    write("kernels/sm_90a.cubin", fakeCubin(mark));
    std::filesystem::copy_file(std::string(KILN_TEST_PROGRAMS) + "/device_kernels.so",
                               emulation_ / (digestOf(fakeCubin(mark)).hex() + ".so"));
    DeviceImageInfo& device = manifest.devices[0];
    device.arch = "sm_90a";
    device.image = {"kernels/sm_90a.cubin", kCubinMediaType,
                    *digestOfFile(directory_ / "kernels/sm_90a.cubin")};
    device.kernels = {"kiln_k0_scale", "kiln_k1_diverge", "kiln_k2_outside"};
    device.driver = "13.0";
    device.computeCapability = "9.0";
    device.exact = true;
    writeManifest();
  }

  const std::string& emulation() const { return emulation_.path(); }  // what KILN_EMULATED_KERNELS names

 private:
  testing_support::TempDirectory emulation_;
  Variable kernels_;
};

// What the emulated driver in this process has counted.
inline kiln_emulated_statistics statistics() {
  void* const library = ::dlopen(KILN_EMULATED_CUDA, RTLD_NOW | RTLD_LOCAL);
  const auto read = reinterpret_cast<decltype(&kiln_emulated_read_statistics)>(
      ::dlsym(library, "kiln_emulated_read_statistics"));
  kiln_emulated_statistics now{};
  read(&now);
  ::dlclose(library);
  return now;
}

inline kiln_session_options onEmulatedDevice() {
  kiln_session_options options{};
  options.threads = 2;
  options.run_before_ready = 1;
  options.device_driver = KILN_EMULATED_CUDA;
  return options;
}

}  // namespace kiln::runtime::test
