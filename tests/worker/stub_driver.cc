// A CUDA driver library of two devices, for tests of what a worker makes of drivers. The first word of the
// file that KILN_EMULATED_STUB names is how it behaves now: ok, abort, hang, noise, lost (it lists one device
// less), swapped (it counts them the other way round), full (no memory), corrupt (copies come back changed).
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "compiler_core/runtime/device/cuda_api.h"

using namespace kiln::runtime::cuda;

namespace {

std::string behaviour() {
  const char* path = std::getenv("KILN_EMULATED_STUB");
  std::string word;
  if (path != nullptr) std::ifstream(path) >> word;
  return word.empty() ? "ok" : word;
}

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

extern "C" {

int kiln_emulated_device = std::getenv("KILN_EMULATED_STUB_REAL") == nullptr;

CUresult cuInit(unsigned) {
  const std::string now = behaviour();
  if (now == "abort") std::abort();
  while (now == "hang") pause();
  if (now == "noise" && write(1, "a driver talks\nnot JSON\n", 24) != 24) return kUnknown;
  return kSuccess;
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
CUresult cuDeviceGetCount(int* count) {
  *count = behaviour() == "lost" ? 1 : 2;
  return kSuccess;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = behaviour() == "swapped" ? 1 - ordinal : ordinal;
  return kSuccess;
}
CUresult cuDeviceGetName(char* name, int capacity, CUdevice device) {
  std::strncpy(name, device == 0 ? "Stub One" : "Stub Two", static_cast<std::size_t>(capacity));
  return kSuccess;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  std::memset(uuid->bytes, device == 0 ? 0xaa : 0x11, sizeof uuid->bytes);
  return kSuccess;
}
CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice) {
  *value = attribute == kAttributeComputeCapabilityMajor   ? 9
           : attribute == kAttributeComputeCapabilityMinor ? 0
                                                           : 32;
  return kSuccess;
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{1} << 30;
  return kSuccess;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(1);
  return kSuccess;
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  if (behaviour() == "full") return kOutOfMemory;
  *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  return kSuccess;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  std::free(pointer(address));
  return kSuccess;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  std::memcpy(pointer(to), from, bytes);
  return kSuccess;
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  std::memcpy(to, pointer(from), bytes);
  if (behaviour() == "corrupt") static_cast<char*>(to)[bytes / 2] ^= 1;
  return kSuccess;
}
CUresult cuGetErrorName(CUresult, const char** name) {
  *name = "STUB_ERROR";
  return kSuccess;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "the stub says no";
  return kSuccess;
}

}  // extern "C"
