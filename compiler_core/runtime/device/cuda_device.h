// A device behind CUDA's driver library.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/runtime/device/compute_device.h"
#include "compiler_core/runtime/device/device_context.h"

namespace kiln::runtime {

class CudaDevice final : public ComputeDevice {
 public:
  // Errors of CudaDriver::open; kUnimplemented when there is no such device.
  static Result<std::shared_ptr<const CudaDevice>> open(const std::string& library, int ordinal);

  std::unique_ptr<Scope> enter() const override;
  // The driver's version and the compute capability alone: bytes are the driver's to judge.
  Status check(const DeviceImageInfo& image, const std::string& bytes) const override;
  Result<std::unique_ptr<KernelModule>> load(const DeviceImageInfo& image, const std::string& bytes,
                                             const std::string& cache) const override;
  Result<std::uint64_t> freeBytes() const override { return context_->freeBytes(); }
  Result<std::unique_ptr<DeviceQueue>> makeQueue(const DeviceReach& reach) const override;
  Result<std::unique_ptr<DeviceMemory>> allocate(std::uint64_t bytes, const char* what) const override;
  Result<std::unique_ptr<PinnedMemory>> allocatePinned(std::uint64_t bytes, const char* what) const override;

 private:
  CudaDevice(DeviceInfo info, std::shared_ptr<const DeviceContext> context)
      : ComputeDevice(std::move(info)), context_(std::move(context)) {}
  const std::shared_ptr<const DeviceContext> context_;
};

}  // namespace kiln::runtime
