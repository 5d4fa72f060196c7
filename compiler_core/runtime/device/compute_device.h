// A device that kernels run on, as sessions use it: memory, kernels, a queue of work. One implementation per
// driver interface (cuda_device.h, vulkan_device.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "compiler_core/runtime/device/device_info.h"
#include "compiler_core/runtime/program_abi.h"
#include "manifest/artifact/manifest.h"
#include "manifest/base/mutex.h"
#include "manifest/base/result.h"

namespace kiln::runtime {

// An allocation on the device. Neither what its owner leaves nor what an earlier one left can be read: it is
// overwritten when it is made (with NaN, so that an uninitialised read shows) and before it is given back.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // As kernels see it; on a multiple of kDeviceAlignment.
  virtual std::uint64_t address() const = 0;
  virtual std::uint64_t bytes() const = 0;
};

// Host memory that the device copies from and to by itself; zeroed before it is given back.
class PinnedMemory {
 public:
  virtual ~PinnedMemory() = default;
  virtual std::byte* data() const = 0;  // on a multiple of KILN_ALIGNMENT
  virtual std::uint64_t bytes() const = 0;
};

// Kernels of one image, loaded.
class KernelModule {
 public:
  virtual ~KernelModule() = default;
  // As kiln_counters::device_cache.
  virtual std::string cache() const { return {}; }
};

// A run that can be repeated.
class DeviceRecording {
 public:
  virtual ~DeviceRecording() = default;
};

// What the kernels of a queue may reach on the device, in bytes: the arenas of a session and its artifact's
// weights. Without one, all that the process has there.
struct DeviceReach {
  std::uint64_t writable = 0, writableBytes = UINT64_MAX;
  std::uint64_t readable = 0, readableBytes = 0;
};

// Work in order. One caller at a time, within a scope of the device (ComputeDevice::enter). Errors are in the
// driver's words after what was done; one that ends the device for the process is kept by the device
// (lost()).
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  // Host memory that is not pinned is read before upload returns, and written by the next wait().
  virtual Status upload(std::uint64_t to, const void* from, std::uint64_t bytes) = 0;
  virtual Status download(void* to, std::uint64_t from, std::uint64_t bytes) = 0;
  // Kernel `launch.kernel` of the module. Its counts are within program_abi.h's, no dimension is 0.
  virtual Status launch(const KernelModule& module, const kiln_launch& launch) = 0;
  // Until all that was enqueued is done.
  virtual Status wait() = 0;

  // A point in time, told after the next wait(). Numbers are given by the caller, from 0.
  virtual Status mark(std::size_t number) = 0;
  virtual Result<double> nanosecondsBetween(std::size_t first, std::size_t second) = 0;

  // Between these, what is enqueued is recorded instead of done. Null: it cannot be repeated.
  virtual Status beginRecording() = 0;
  virtual std::unique_ptr<DeviceRecording> endRecording(bool wanted) = 0;
  // Enqueues all of it. Pinned memory and allocations must be those that were recorded.
  virtual Status replay(const DeviceRecording& recording) = 0;
};

// Thread safe; what it gives out keeps it alive.
class ComputeDevice : public std::enable_shared_from_this<ComputeDevice> {
 public:
  virtual ~ComputeDevice() = default;
  ComputeDevice(const ComputeDevice&) = delete;
  ComputeDevice& operator=(const ComputeDevice&) = delete;

  const DeviceInfo& info() const { return info_; }
  // "device 0, NVIDIA H200"
  std::string text() const { return "device " + std::to_string(info_.ordinal) + ", " + info_.name; }

  // What the calling thread holds while it works with a queue.
  class Scope {
   public:
    virtual ~Scope() = default;
  };
  virtual std::unique_ptr<Scope> enter() const { return nullptr; }

  // Checks an image before any driver sees it: kDataLoss; kUnimplemented for one that asks for what the
  // device does not have, naming both.
  virtual Status check(const DeviceImageInfo& image, const std::string& bytes) const = 0;
  // `cache`: directory that keeps what the driver compiles, where it compiles anything; or "".
  virtual Result<std::unique_ptr<KernelModule>> load(const DeviceImageInfo& image, const std::string& bytes,
                                                     const std::string& cache) const = 0;
  virtual Result<std::uint64_t> freeBytes() const = 0;
  // Where the kernels' form allows it (Vulkan's do, spirv/spirv_bounds.h), they are held to `reach`.
  virtual Result<std::unique_ptr<DeviceQueue>> makeQueue(const DeviceReach& reach) const = 0;
  // At least a byte. kResourceExhausted naming `what` and the size.
  virtual Result<std::unique_ptr<DeviceMemory>> allocate(std::uint64_t bytes, const char* what) const = 0;
  virtual Result<std::unique_ptr<PinnedMemory>> allocatePinned(std::uint64_t bytes,
                                                               const char* what) const = 0;

  // Why nothing works on the device any more, in this process: what was said of it first.
  std::optional<Error> lost() const;
  // Keeps `why` as that, with the next step.
  void lose(const Error& why) const;

 protected:
  explicit ComputeDevice(DeviceInfo info) : info_(std::move(info)) {}

 private:
  const DeviceInfo info_;
  mutable Mutex mutex_;
  mutable std::optional<Error> lost_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::runtime
