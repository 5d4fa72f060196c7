// A CUDA driver library in this process.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/runtime/device/cuda_api.h"
#include "manifest/base/result.h"

namespace kiln::runtime {

inline constexpr char kCudaDriverLibrary[] = "libcuda.so.1";

// Immutable, thread safe. The library stays in the process once opened, as drivers do not bear being
// unloaded.
class CudaDriver {
 public:
  // Loads `library` (a path, or a name that the system's loader finds), finds the functions and initialises
  // it. kUnimplemented, saying what was found, where there is no such driver, no device, or too old a driver;
  // kInvalidArgument for "".
  static Result<std::shared_ptr<const CudaDriver>> open(const std::string& library);

  const cuda::DriverTable& operator*() const { return table_; }
  const cuda::DriverTable* operator->() const { return &table_; }
  const std::string& library() const { return library_; }
  // The CUDA version that it serves, as the driver counts: 13000 is 13.0.
  int version() const { return version_; }
  // Not a device: runs kernels on the CPU, for tests (emulated/).
  bool emulated() const { return emulated_; }

  // success, or the class that `code` falls into, as runtime.h has them, with the driver's own words after
  // `what`.
  Status check(cuda::CUresult code, const std::string& what) const;
  // After this, nothing in the process works on the device any more.
  static bool isSticky(cuda::CUresult code);

 private:
  CudaDriver() = default;
  std::string library_;
  cuda::DriverTable table_;
  int version_ = 0;
  bool emulated_ = false;
};

// "13.0" of 13000.
std::string cudaVersionText(int version);

}  // namespace kiln::runtime
