#include "compiler_core/runtime/device/cuda_device.h"

#include <algorithm>

#include "compiler_core/runtime/device/compatibility.h"
#include "compiler_core/runtime/device/cuda_queue.h"

namespace kiln::runtime {
namespace {

class ContextScope final : public ComputeDevice::Scope {
 public:
  explicit ContextScope(const DeviceContext& context) : scope_(context) {}

 private:
  const DeviceContext::Scope scope_;
};

class CudaMemory final : public DeviceMemory {
 public:
  explicit CudaMemory(DeviceBuffer buffer) : buffer_(std::move(buffer)) {}
  std::uint64_t address() const override { return buffer_.address(); }
  std::uint64_t bytes() const override { return buffer_.bytes(); }

 private:
  const DeviceBuffer buffer_;
};

class CudaPinned final : public PinnedMemory {
 public:
  explicit CudaPinned(PinnedBuffer buffer) : buffer_(std::move(buffer)) {}
  std::byte* data() const override { return buffer_.data(); }
  std::uint64_t bytes() const override { return buffer_.bytes(); }

 private:
  const PinnedBuffer buffer_;
};

}  // namespace

Result<std::shared_ptr<const CudaDevice>> CudaDevice::open(const std::string& library, int ordinal) {
  KILN_ASSIGN(auto driver, CudaDriver::open(library));
  KILN_ASSIGN(const DeviceInfo info, deviceInfo(*driver, ordinal));
  KILN_ASSIGN(auto context, DeviceContext::open(std::move(driver), info));
  return std::shared_ptr<const CudaDevice>(new CudaDevice(info, std::move(context)));
}

std::unique_ptr<ComputeDevice::Scope> CudaDevice::enter() const {
  return std::make_unique<ContextScope>(*context_);
}

Status CudaDevice::check(const DeviceImageInfo& image, const std::string&) const {
  return checkDevice(image, info());
}

Result<std::unique_ptr<KernelModule>> CudaDevice::load(const DeviceImageInfo& image, const std::string& bytes,
                                                       const std::string&) const {
  return CudaModule::load(context_, image, bytes);
}

Result<std::unique_ptr<DeviceQueue>> CudaDevice::makeQueue(const DeviceReach&) const {
  KILN_ASSIGN(DeviceStream stream, DeviceStream::create(context_));
  return std::make_unique<CudaQueue>(shared_from_this(), context_, std::move(stream));
}

Result<std::unique_ptr<DeviceMemory>> CudaDevice::allocate(std::uint64_t bytes, const char* what) const {
  KILN_ASSIGN(const DeviceStream stream, DeviceStream::create(context_));
  KILN_ASSIGN(DeviceBuffer buffer, DeviceBuffer::allocate(context_, bytes, stream, what));
  return std::make_unique<CudaMemory>(std::move(buffer));
}

Result<std::unique_ptr<PinnedMemory>> CudaDevice::allocatePinned(std::uint64_t bytes,
                                                                 const char* what) const {
  KILN_ASSIGN(PinnedBuffer buffer, PinnedBuffer::allocate(context_, std::max<std::uint64_t>(bytes, 1), what));
  return std::make_unique<CudaPinned>(std::move(buffer));
}

}  // namespace kiln::runtime
