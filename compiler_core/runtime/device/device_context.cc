#include "compiler_core/runtime/device/device_context.h"

#include <cstring>

namespace kiln::runtime {
namespace {

// What a fresh buffer holds: NaN in every floating-point type, so that reading it uninitialised shows.
constexpr unsigned char kFresh = 0xFF;

std::string sizeText(std::uint64_t bytes, const char* what, const DeviceInfo& info) {
  return std::to_string(bytes) + " bytes for " + what + ", device " + std::to_string(info.ordinal) + ", " +
         info.name;
}

}  // namespace

Result<std::shared_ptr<const DeviceContext>> DeviceContext::open(std::shared_ptr<const CudaDriver> driver,
                                                                 DeviceInfo info) {
  const std::string what = "opening device " + std::to_string(info.ordinal) + ", " + info.name;
  std::shared_ptr<DeviceContext> context(new DeviceContext(std::move(driver), std::move(info)));
  const CudaDriver& api = context->driver();
  KILN_TRY(api.check(api->deviceGet(&context->device_, context->info_.ordinal), what));
  KILN_TRY(api.check(api->primaryCtxRetain(&context->context_, context->device_), what));
  return context;
}

DeviceContext::~DeviceContext() {
  if (context_ != nullptr) driver()->primaryCtxRelease(device_);
}

Result<std::uint64_t> DeviceContext::freeBytes() const {
  std::size_t free = 0, total = 0;
  KILN_TRY(driver().check(driver()->memGetInfo(&free, &total), "asking for the device's free memory"));
  return free;
}

std::optional<Error> DeviceContext::lost() const {
  const MutexLock lock(mutex_);
  return lost_;
}

void DeviceContext::lose(Error why) const {
  const MutexLock lock(mutex_);
  if (!lost_) lost_ = std::move(why);
}

Result<DeviceStream> DeviceStream::create(std::shared_ptr<const DeviceContext> context) {
  const DeviceContext::Scope scope(*context);
  const CudaDriver& api = context->driver();
  DeviceStream stream;
  cuda::CUstream handle = nullptr;
  KILN_TRY(api.check(api->streamCreate(&handle, cuda::kStreamNonBlocking), "making a stream"));
  stream.stream_ = handle;
  stream.context_ = std::move(context);
  return stream;
}

DeviceStream::~DeviceStream() {
  if (stream_ == nullptr) return;
  const DeviceContext::Scope scope(*context_);
  context_->driver()->streamDestroy(stream_);
}

Result<DeviceBuffer> DeviceBuffer::allocate(std::shared_ptr<const DeviceContext> context, std::uint64_t bytes,
                                            const DeviceStream& stream, const char* what) {
  DeviceBuffer buffer;
  if (bytes == 0) return buffer;
  const DeviceContext::Scope scope(*context);
  const CudaDriver& api = context->driver();
  const std::string place = "allocating " + sizeText(bytes, what, context->info());
  cuda::CUdeviceptr address = 0;
  KILN_TRY(api.check(api->memAlloc(&address, bytes), place));
  buffer.context_ = std::move(context);
  buffer.address_ = address;
  buffer.bytes_ = bytes;
  KILN_TRY(api.check(api->memsetD8Async(address, kFresh, bytes, stream.get()), place));
  KILN_TRY(api.check(stream.wait(), place));
  return buffer;
}

// Errors end here: on a device that failed, memory goes with the context.
DeviceBuffer::~DeviceBuffer() {
  if (bytes_ == 0) return;
  const DeviceContext::Scope scope(*context_);
  const cuda::DriverTable& api = *context_->driver();
  cuda::CUstream stream = nullptr;
  if (api.streamCreate(&stream, cuda::kStreamNonBlocking) == cuda::kSuccess) {
    api.memsetD8Async(address_, 0, bytes_, stream);
    api.streamSynchronize(stream);
    api.streamDestroy(stream);
  }
  api.memFree(address_);
}

Result<PinnedBuffer> PinnedBuffer::allocate(std::shared_ptr<const DeviceContext> context, std::uint64_t bytes,
                                            const char* what) {
  PinnedBuffer buffer;
  if (bytes == 0) return buffer;
  const DeviceContext::Scope scope(*context);
  const CudaDriver& api = context->driver();
  void* data = nullptr;
  KILN_TRY(api.check(api->memHostAlloc(&data, bytes, 0),
                     "allocating pinned memory, " + sizeText(bytes, what, context->info())));
  buffer.context_ = std::move(context);
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.bytes_ = bytes;
  return buffer;
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ == nullptr) return;
  std::memset(data_, 0, bytes_);
  const DeviceContext::Scope scope(*context_);
  context_->driver()->memFreeHost(data_);
}

}  // namespace kiln::runtime
