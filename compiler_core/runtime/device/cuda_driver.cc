#include "compiler_core/runtime/device/cuda_driver.h"

#include <dlfcn.h>

namespace kiln::runtime {
namespace {

// The device itself fails, whatever runs on it.
bool isLost(cuda::CUresult code) {
  switch (code) {
    case 46:   // device unavailable
    case 214:  // uncorrectable ECC error
    case 220:  // uncorrectable NVLink error
    case cuda::kUnknown:
      return true;
    default:
      return false;
  }
}

Code codeOf(cuda::CUresult code) {
  if (isLost(code)) return Code::kUnavailable;
  switch (code) {
    case cuda::kOutOfMemory:
      return Code::kResourceExhausted;
    case cuda::kNoDevice:
    case cuda::kInvalidDevice:
    case cuda::kNoBinaryForGpu:
    case cuda::kUnsupportedPtxVersion:
    case cuda::kSystemDriverMismatch:
      return Code::kUnimplemented;
    case cuda::kInvalidImage:
    case cuda::kInvalidPtx:
      return Code::kDataLoss;
    default:
      return Code::kInternal;
  }
}

}  // namespace

std::string cudaVersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<std::shared_ptr<const CudaDriver>> CudaDriver::open(const std::string& library) {
  if (library.empty())  // the running program itself, to dlopen
    return fail(Code::kInvalidArgument,
                "the driver library (device_driver, --device-driver) is \"\"; name one, or leave it out");
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return fail(Code::kUnimplemented, "this machine has no CUDA driver (" +
                                          std::string(reason != nullptr ? reason : library) +
                                          "); use a machine with an NVIDIA GPU and its driver");
  }
  std::shared_ptr<CudaDriver> driver(new CudaDriver());
  driver->library_ = library;
  std::string absent;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, symbol));
    if (function == nullptr && absent.empty()) absent = symbol;
  };
  cuda::DriverTable& table = driver->table_;
#define KILN_CUDA_FIND(member, symbol, parameters) find(table.member, #symbol);
  KILN_CUDA_FUNCTIONS(KILN_CUDA_FIND)
#undef KILN_CUDA_FIND
  if (!absent.empty()) {
    if (table.driverGetVersion != nullptr) table.driverGetVersion(&driver->version_);
    return fail(Code::kUnimplemented, library + ": a driver of CUDA " + cudaVersionText(driver->version_) +
                                          " without " + absent +
                                          "; the runtime needs one of CUDA 12.0 or later");
  }
  const void* const marker = ::dlsym(handle, cuda::kEmulatedMarker);
  driver->emulated_ = marker != nullptr && *static_cast<const int*>(marker) != 0;
  // Whatever it says: this machine cannot serve a program for a GPU.
  if (Status ready = driver->check(table.init(0), library + ": initialising the CUDA driver"); !ready)
    return fail(Code::kUnimplemented,
                ready.error().message + "; use a machine with an NVIDIA GPU that this process may use");
  KILN_TRY(driver->check(table.driverGetVersion(&driver->version_), library + ": asking for its version"));
  return driver;
}

Status CudaDriver::check(cuda::CUresult code, const std::string& what) const {
  if (code == cuda::kSuccess) return {};
  const char *name = nullptr, *text = nullptr;
  if (table_.getErrorName(code, &name) != cuda::kSuccess || name == nullptr) name = "unnamed error";
  if (table_.getErrorString(code, &text) != cuda::kSuccess || text == nullptr) text = "no description";
  return fail(codeOf(code), what + ": the driver says " + name + " (" + std::to_string(code) + "): " + text);
}

bool CudaDriver::isSticky(cuda::CUresult code) {
  if (isLost(code)) return true;
  switch (code) {
    case cuda::kIllegalAddress:
    case 702:  // launch timeout
    case 710:  // assert
    case 714:  // hardware stack error
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid program counter
    case cuda::kLaunchFailed:
    case 721:  // contained: of another client of the device
      return true;
    default:
      return false;
  }
}

}  // namespace kiln::runtime
