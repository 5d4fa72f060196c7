// The process's context on one device, and memory in it.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "compiler_core/runtime/device/cuda_driver.h"
#include "compiler_core/runtime/device/device_info.h"
#include "manifest/base/mutex.h"

namespace kiln::runtime {

// The device's primary context, which the whole process shares; released with the object. Thread safe.
class DeviceContext {
 public:
  static Result<std::shared_ptr<const DeviceContext>> open(std::shared_ptr<const CudaDriver> driver,
                                                           DeviceInfo info);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  const CudaDriver& driver() const { return *driver_; }
  const DeviceInfo& info() const { return info_; }

  // Makes the context the calling thread's for a scope. The driver's other calls want it.
  class Scope {
   public:
    explicit Scope(const DeviceContext& context) : context_(context) {
      pushed_ = context.driver()->ctxPushCurrent(context.context_) == cuda::kSuccess;
    }
    ~Scope() {
      cuda::CUcontext popped = nullptr;
      if (pushed_) context_.driver()->ctxPopCurrent(&popped);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const DeviceContext& context_;
    bool pushed_ = false;
  };

  // In a Scope.
  Result<std::uint64_t> freeBytes() const;

  // Why nothing works on the device any more, in this process: what was said of it first.
  std::optional<Error> lost() const;
  void lose(Error why) const;

 private:
  DeviceContext(std::shared_ptr<const CudaDriver> driver, DeviceInfo info)
      : driver_(std::move(driver)), info_(std::move(info)) {}
  const std::shared_ptr<const CudaDriver> driver_;
  const DeviceInfo info_;
  cuda::CUdevice device_ = 0;
  cuda::CUcontext context_ = nullptr;
  mutable Mutex mutex_;
  mutable std::optional<Error> lost_ KILN_GUARDED_BY(mutex_);
};

// A stream of the context, which does not wait for others.
class DeviceStream {
 public:
  static Result<DeviceStream> create(std::shared_ptr<const DeviceContext> context);
  DeviceStream() = default;
  ~DeviceStream();
  DeviceStream(DeviceStream&& other) noexcept { *this = std::move(other); }
  DeviceStream& operator=(DeviceStream&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  cuda::CUstream get() const { return stream_; }
  // Until all that was enqueued is done. In a Scope.
  cuda::CUresult wait() const { return context_->driver()->streamSynchronize(stream_); }

 private:
  std::shared_ptr<const DeviceContext> context_;
  cuda::CUstream stream_ = nullptr;
};

// One allocation on the device. Neither what its owner leaves nor what an earlier one left can be read: it is
// overwritten when it is made and before it is given back.
class DeviceBuffer {
 public:
  // kResourceExhausted naming `what` and the size. 0 bytes is an empty buffer.
  static Result<DeviceBuffer> allocate(std::shared_ptr<const DeviceContext> context, std::uint64_t bytes,
                                       const DeviceStream& stream, const char* what);
  DeviceBuffer() = default;
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  cuda::CUdeviceptr address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<const DeviceContext> context_;
  cuda::CUdeviceptr address_ = 0;
  std::uint64_t bytes_ = 0;
};

// Host memory that the device copies from and to by itself; zeroed before it is given back.
class PinnedBuffer {
 public:
  static Result<PinnedBuffer> allocate(std::shared_ptr<const DeviceContext> context, std::uint64_t bytes,
                                       const char* what);
  PinnedBuffer() = default;
  ~PinnedBuffer();
  PinnedBuffer(PinnedBuffer&& other) noexcept { *this = std::move(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<const DeviceContext> context_;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace kiln::runtime
