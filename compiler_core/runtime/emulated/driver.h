// The state behind the emulated Driver API: devices, streams, graphs. The API's functions (api.cc) are thin
// over it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/cuda_api.h"
#include "compiler_core/runtime/emulated/device.h"
#include "compiler_core/runtime/emulated/grid.h"
#include "compiler_core/runtime/emulated/statistics.h"

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

// Thread safe: the API's functions take `mutex` for as long as they run, the kernels that they wait for
// included.
class Driver {
 public:
  std::mutex mutex;

  // Reads the environment and begins anew where no context is open.
  cuda::CUresult initialise();
  bool initialised() const { return initialised_; }
  const Settings& settings() const { return settings_; }
  Device* device(int ordinal);
  // The current device of the calling thread; null if it has none.
  Device* current() const { return stack().empty() ? nullptr : stack().back(); }
  std::vector<Device*>& stack() const;

  cuda::CUresult enqueue(Stream& stream, Op op);
  // Runs what is pending.
  cuda::CUresult drain(Stream& stream);
  const char* text(cuda::CUresult error) const;
  // Keeps `why` for whoever asks what `error` means.
  cuda::CUresult failWith(cuda::CUresult error, const std::string& why);

  kiln_emulated_statistics statistics = {};

 private:
  cuda::CUresult execute(Device& device, const Op& op);
  cuda::CUresult execute(Device& device, const LaunchOp& launch);

  bool initialised_ = false;
  Settings settings_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::deque<std::pair<cuda::CUresult, std::string>> details_;  // every one that was ever told
};

// The library's.
Driver& driver();

}  // namespace kiln::emulated
