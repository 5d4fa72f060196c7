// Kernels and work on a CUDA device: a module, and a stream that can be captured as a graph. Private to this
// folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/compute_device.h"
#include "compiler_core/runtime/device/device_context.h"

namespace kiln::runtime {

class CudaModule final : public KernelModule {
 public:
  // kDataLoss when a kernel of the manifest is not in the image.
  static Result<std::unique_ptr<KernelModule>> load(std::shared_ptr<const DeviceContext> context,
                                                    const DeviceImageInfo& image, const std::string& bytes);
  ~CudaModule() override;
  cuda::CUfunction function(std::size_t kernel) const { return functions_[kernel]; }
  const std::string& name(std::size_t kernel) const { return names_[kernel]; }

 private:
  explicit CudaModule(std::shared_ptr<const DeviceContext> context) : context_(std::move(context)) {}
  const std::shared_ptr<const DeviceContext> context_;
  cuda::CUmodule module_ = nullptr;
  std::vector<cuda::CUfunction> functions_;
  std::vector<std::string> names_;
};

class CudaQueue final : public DeviceQueue {
 public:
  CudaQueue(std::shared_ptr<const ComputeDevice> device, std::shared_ptr<const DeviceContext> context,
            DeviceStream stream)
      : device_(std::move(device)), context_(std::move(context)), stream_(std::move(stream)) {}
  ~CudaQueue() override;

  Status upload(std::uint64_t to, const void* from, std::uint64_t bytes) override;
  Status download(void* to, std::uint64_t from, std::uint64_t bytes) override;
  Status launch(const KernelModule& module, const kiln_launch& launch) override;
  Status wait() override;
  Status mark(std::size_t number) override;
  Result<double> nanosecondsBetween(std::size_t first, std::size_t second) override;
  Status beginRecording() override;
  std::unique_ptr<DeviceRecording> endRecording(bool wanted) override;
  Status replay(const DeviceRecording& recording) override;

 private:
  const cuda::DriverTable& api() const { return *context_->driver(); }
  // As CudaDriver::check; what ends the device for the process is kept.
  Status check(cuda::CUresult code, const std::string& what) const;

  const std::shared_ptr<const ComputeDevice> device_;
  const std::shared_ptr<const DeviceContext> context_;
  const DeviceStream stream_;
  std::vector<cuda::CUevent> events_;  // by number; kept for later runs
};

}  // namespace kiln::runtime
