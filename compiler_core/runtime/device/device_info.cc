#include "compiler_core/runtime/device/device_info.h"

#include <algorithm>
#include <cstdio>

namespace kiln::runtime {
namespace {

std::string uuidText(const cuda::CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", uuid.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += "-";
    text += digits;
  }
  return text;
}

}  // namespace

Result<DeviceInfo> deviceInfo(const CudaDriver& driver, int ordinal) {
  int count = 0;
  KILN_TRY(driver.check(driver->deviceGetCount(&count), "counting the devices"));
  if (ordinal < 0 || ordinal >= count) {
    return fail(Code::kUnimplemented, "there is no device " + std::to_string(ordinal) + ": " +
                                          driver.library() + " has " + std::to_string(count) +
                                          ", numbered from 0");
  }
  const std::string what = "device " + std::to_string(ordinal);
  DeviceInfo info;
  info.ordinal = ordinal;
  info.driverVersion = driver.version();
  info.apiVersion = cudaVersionText(driver.version());
  info.emulated = driver.emulated();
  cuda::CUdevice device = 0;
  KILN_TRY(driver.check(driver->deviceGet(&device, ordinal), what));
  char name[256] = {};
  KILN_TRY(driver.check(driver->deviceGetName(name, sizeof name - 1, device), what));
  info.name = name;
  cuda::CUuuid uuid{};
  KILN_TRY(driver.check(driver->deviceGetUuid(&uuid, device), what));
  info.uuid = uuidText(uuid);
  const auto attribute = [&](int& value, int number) {
    return driver.check(driver->deviceGetAttribute(&value, number, device), what);
  };
  KILN_TRY(attribute(info.major, cuda::kAttributeComputeCapabilityMajor));
  KILN_TRY(attribute(info.minor, cuda::kAttributeComputeCapabilityMinor));
  KILN_TRY(attribute(info.multiprocessors, cuda::kAttributeMultiprocessors));
  std::size_t bytes = 0;
  KILN_TRY(driver.check(driver->deviceTotalMem(&bytes, device), what));
  info.memoryBytes = bytes;
  return info;
}

Result<std::vector<DeviceInfo>> listDevices(const std::string& library) {
  KILN_ASSIGN(const auto driver, CudaDriver::open(library));
  int count = 0;
  KILN_TRY(driver->check((*driver)->deviceGetCount(&count), "counting the devices"));
  std::vector<DeviceInfo> devices;
  for (int i = 0; i < count; ++i) {
    KILN_ASSIGN(DeviceInfo info, deviceInfo(*driver, i));
    devices.push_back(std::move(info));
  }
  return devices;
}

}  // namespace kiln::runtime
