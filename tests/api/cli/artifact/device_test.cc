// An artifact with kernels for a GPU through the commands, on the emulated device: run, warmup, check,
// doctor, and what they say on a machine that cannot serve it.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/api/cli/signed_program.h"
#include "tests/compiler_core/runtime/device/device_files.h"

namespace kiln {
namespace {

struct KilnDevice : testing_support::SignedProgramOf<runtime::test::DeviceTestArtifact> {
  void SetUp() override {
    SignedProgramOf::SetUp();
    environment["KILN_EMULATED_KERNELS"] = artifact.emulation();
  }
  testing_support::KilnResult onDevice(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--device-driver", KILN_EMULATED_CUDA});
    return kiln(arguments);
  }
  Json jsonOf(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const auto result = onDevice(std::move(arguments));
    const auto json = parseJson(result.out);
    EXPECT_TRUE(json) << result.out << result.err;
    return json ? *json : Json();
  }
};

TEST_F(KilnDevice, RunsAndCountsTheDevice) {
  const Json json = jsonOf({"run", artifact.path(), "--input", "x=x.npy"});
  const Json& device = json.at("counters").at("device");
  EXPECT_EQ(device.at("name"), "Kiln emulated device (test only)");
  EXPECT_EQ(device.at("driver"), "13.0");
  EXPECT_EQ(device.at("emulated"), true);
  EXPECT_EQ(device.at("transferBytes"), 16384);
  const Json profile = jsonOf({"run", artifact.path(), "--input", "x=x.npy", "--profile"});
  EXPECT_EQ(profile.at("kernels").at(0).at("symbol"), "kiln_k0_scale") << profile.dump();
}

TEST_F(KilnDevice, WarmsUpAndSaysOnWhat) {
  const auto result = onDevice({"warmup", artifact.path()});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.out.find("ready: cuda:sm_90a profile default"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("device: Kiln emulated device (test only), driver CUDA 13.0"), std::string::npos)
      << result.out;
}

TEST_F(KilnDevice, ACheckOnTheEmulatedDeviceSaysSo) {
  const Json json = jsonOf({"check", artifact.path()});
  EXPECT_EQ(json.at("passed"), true) << json.dump();
  EXPECT_EQ(json.at("device").at("emulated"), true);
  EXPECT_EQ(json.at("device").at("gpu").at("name"), "Kiln emulated device (test only)");
  EXPECT_EQ(json.at("device").at("gpu").at("computeCapability"), "9.0");
  EXPECT_EQ(json.at("measured").at("device").at("plannedBytes"), "17408");
  EXPECT_GT(json.at("measured").at("device").at("replayedRuns"), 0) << json.dump();
}

TEST_F(KilnDevice, AMachineThatCannotServeItIsExit4WithTheReason) {
  const auto refused = [&](const std::string& variable, const std::string& value, const std::string& reason) {
    environment[variable] = value;
    for (const char* command : {"warmup", "check"}) {
      const auto result = onDevice({command, artifact.path()});
      EXPECT_EQ(result.exit, 4) << command << ": " << result.err;
      EXPECT_NE(result.err.find(reason), std::string::npos) << command << ": " << result.err;
    }
    environment.erase(variable);
  };
  refused("KILN_EMULATED_DRIVER", "12.4", "the driver serves CUDA 12.4");
  refused("KILN_EMULATED_ARCH", "sm_80", "is sm_80");
  refused("KILN_EMULATED_MEMORY", "17000", "plans 17408 bytes");
  refused("KILN_EMULATED_DEVICES", "0", "CUDA_ERROR_NO_DEVICE");
  const auto missing = kiln({"run", artifact.path(), "--input", "x=x.npy", "--device-driver", "/none.so"});
  EXPECT_EQ(missing.exit, 4) << missing.err;
  EXPECT_NE(missing.err.find("no CUDA driver"), std::string::npos) << missing.err;
}

TEST_F(KilnDevice, DoctorNamesGpuAndDriver) {
  const auto found = onDevice({"doctor"});
  EXPECT_NE(found.out.find("gpus: device 0: Kiln emulated device (test only), sm_90"), std::string::npos)
      << found.out;
  EXPECT_NE(found.out.find("driver CUDA 13.0"), std::string::npos) << found.out;
  const auto none = kiln({"doctor", "--device-driver", "/none.so"});
  EXPECT_NE(none.out.find("gpus: none: this machine has no CUDA driver"), std::string::npos) << none.out;
}

}  // namespace
}  // namespace kiln
