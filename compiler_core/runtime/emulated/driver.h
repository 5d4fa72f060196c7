// The state behind the emulated Driver API: devices, streams, graphs. The API's functions (api.cc) are thin
// over it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/cuda_api.h"
#include "compiler_core/runtime/emulated/device.h"
#include "compiler_core/runtime/emulated/grid.h"
#include "compiler_core/runtime/emulated/statistics.h"
#include "manifest/base/mutex.h"

namespace kiln::emulated {

namespace cuda = runtime::cuda;

struct Device;

// What the handles of the API point to.
struct Module {
  Device* device;
  std::shared_ptr<const KernelFile> file;
  std::deque<std::pair<std::shared_ptr<const KernelFile>, const kiln_emulated_entry*>> functions;
};
using Function = std::pair<std::shared_ptr<const KernelFile>, const kiln_emulated_entry*>;
struct Stream {
  Device* device;
  std::vector<Op> pending;  // nothing runs before somebody waits
  std::unique_ptr<std::vector<Op>> capture;
};
struct Graph {
  std::vector<Op> ops;
};

struct Device {
  Device(int ordinal, const Settings& settings)
      : ordinal(ordinal), memory(settings.memoryBytes), grid(settings.order, settings.threads) {}
  const int ordinal;
  DeviceMemory memory;
  GridRunner grid;
  int contexts = 0;                             // retained
  cuda::CUresult failure = cuda::kSuccess;      // sticky
  std::map<const void*, std::uint64_t> pinned;  // host allocations
};

// The API's functions hold `mutex` for as long as they run, the kernels that they wait for included. What the
// handles point to is guarded by it too.
class Driver {
 public:
  Mutex mutex;

  // Reads the environment and begins anew where no context is open.
  cuda::CUresult initialise() KILN_REQUIRES(mutex);
  bool initialised() const KILN_REQUIRES(mutex) { return initialised_; }
  const Settings& settings() const KILN_REQUIRES(mutex) { return settings_; }
  Device* device(int ordinal) KILN_REQUIRES(mutex);
  // The current device of the calling thread; null if it has none.
  Device* current() const { return stack().empty() ? nullptr : stack().back(); }
  std::vector<Device*>& stack() const;

  cuda::CUresult enqueue(Stream& stream, Op op) KILN_REQUIRES(mutex);
  // Runs what is pending.
  cuda::CUresult drain(Stream& stream) KILN_REQUIRES(mutex);
  const char* text(cuda::CUresult error) const KILN_REQUIRES(mutex);
  // Keeps `why` for whoever asks what `error` means.
  cuda::CUresult failWith(cuda::CUresult error, const std::string& why) KILN_REQUIRES(mutex);

  kiln_emulated_statistics statistics KILN_GUARDED_BY(mutex) = {};

 private:
  cuda::CUresult execute(Device& device, const Op& op) KILN_REQUIRES(mutex);
  cuda::CUresult execute(Device& device, const LaunchOp& launch) KILN_REQUIRES(mutex);

  bool initialised_ KILN_GUARDED_BY(mutex) = false;
  Settings settings_ KILN_GUARDED_BY(mutex);
  std::vector<std::unique_ptr<Device>> devices_ KILN_GUARDED_BY(mutex);
  // Every one that was ever told.
  std::deque<std::pair<cuda::CUresult, std::string>> details_ KILN_GUARDED_BY(mutex);
};

// The library's.
Driver& driver();

}  // namespace kiln::emulated
