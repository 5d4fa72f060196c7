// An emulated device: memory, and what streams and graphs hold.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "compiler_core/runtime/emulated/kernels.h"
#include "compiler_core/runtime/emulated/settings.h"

namespace kiln::emulated {

// Allocations of one device. Each ends at a page that nobody may touch; nothing can be read or
// written while no operation runs, as from a processor that is not the device. Guarded by the owner's mutex.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::uint64_t limit) : limit_(limit) {}
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // 0 when there is not that much.
  std::uint64_t allocate(std::uint64_t bytes);
  // False for an address that allocate() has not returned.
  bool release(std::uint64_t address);
  // Whether [address, address + bytes) lies in one allocation.
  bool contains(std::uint64_t address, std::uint64_t bytes) const;
  void open();   // for operations
  void close();  // for nobody

  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_; }
  // How many of the allocations were not all zeros when they were released.
  std::uint64_t unscrubbed() const { return unscrubbed_; }

 private:
  struct Allocation {
    void* mapping;
    std::uint64_t mapped, bytes;
  };
  const std::uint64_t limit_;
  std::uint64_t used_ = 0, unscrubbed_ = 0;
  std::map<std::uint64_t, Allocation> allocations_;
};

// What a stream holds until somebody waits for it, and a graph for ever.
struct LaunchOp {
  std::shared_ptr<const KernelFile> file;
  const kiln_emulated_entry* kernel;
  unsigned grid[3];
  std::vector<std::uint64_t> arguments;
};
struct CopyOp {
  void* to;
  const void* from;
  std::uint64_t bytes;
  std::shared_ptr<const std::vector<std::uint8_t>>
      snapshot;  // instead of `from`: host memory that is not pinned
};
struct FillOp {
  void* to;
  unsigned char value;
  std::uint64_t bytes;
};
struct Event {
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
};
struct EventOp {
  std::shared_ptr<Event> event;
};
struct GraphOp;
using Op = std::variant<LaunchOp, CopyOp, FillOp, EventOp, GraphOp>;
// Instantiated; what it held when it was.
struct GraphOp {
  std::shared_ptr<const std::vector<Op>> ops;
};

}  // namespace kiln::emulated
