// Artifact directories with kernels for the emulated device, for tests.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "compiler_core/runtime/emulated/statistics.h"
#include "compiler_core/runtime/runtime.h"
#include "manifest/spec/target.h"
#include "tests/compiler_core/runtime/test_artifact.h"

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

// programs/device.c and its kernels. Change `manifest` and call writeManifest() for another one.
class DeviceTestArtifact : public ArtifactFolder {
 public:
  explicit DeviceTestArtifact(const std::string& program = "device", char mark = 'a')
      : kernels_("KILN_EMULATED_KERNELS", emulation_.path()) {
    std::filesystem::create_directories(directory_ / "weights");
    std::filesystem::create_directories(directory_ / "kernels");
    const std::string programs = std::string(KILN_TEST_PROGRAMS) + "/";
    std::filesystem::copy_file(programs + program + ".so", directory_ / "program.so");
    const auto w = sampleWeight();
    write("weights/0000.bin", {reinterpret_cast<const char*>(w.data()), w.size() * sizeof(float)});
    write("weights/0001.bin", "");
    write("kernels/sm_90a.cubin", fakeCubin(mark));
    std::filesystem::copy_file(programs + "device_kernels.so",
                               emulation_ / (digestOf(fakeCubin(mark)).hex() + ".so"));
    manifest.spec = testing_support::sampleSpec();
    manifest.spec.pins.clear();
    manifest.spec.target = "cuda:sm_90a";
    manifest.spec.features = parseTarget("cuda:sm_90a").value().features;
    manifest.spec.profiles = {{"default", {{"N", {kRows, kRows, kRows}}}}};
    manifest.programAbi = KILN_PROGRAM_ABI_DEVICES;
    manifest.symbols = {{.name = "N", .input = "x"}};
    manifest.inputs = {{"x", DType::kF32, {"N", kColumns}, {}}};
    manifest.outputs = {{"y", DType::kF32, {"N", kColumns}, {}}};
    manifest.profiles = {{.name = "default", .deviceArenaBytes = {kArenaBytes}}};
    manifest.program = {"program.so", kProgramMediaType, *digestOfFile(directory_ / "program.so")};
    DeviceImageInfo device;
    device.target = "cuda:sm_90a";
    device.arch = "sm_90a";
    device.image = {"kernels/sm_90a.cubin", kCubinMediaType,
                    *digestOfFile(directory_ / "kernels/sm_90a.cubin")};
    device.kernels = {"kiln_k0_scale", "kiln_k1_diverge", "kiln_k2_outside"};
    device.driver = "13.0";
    device.computeCapability = "9.0";
    device.exact = true;
    manifest.devices = {device};
    for (const char* path : {"weights/0000.bin", "weights/0001.bin"})
      manifest.weights.push_back({path, kWeightsMediaType, *digestOfFile(directory_ / path)});
    manifest.weightSpaces = {1, 0};
    manifest.stages = Json::object();
    writeManifest();
  }

  static constexpr std::uint64_t kArenaBytes = 2 * kRows * kColumns * sizeof(float);

  const std::string& emulation() const { return emulation_.path(); }  // what KILN_EMULATED_KERNELS names

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
