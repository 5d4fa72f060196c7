#include "compiler_core/runtime/emulated/device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace kiln::emulated {
namespace {

constexpr std::uint64_t kAlignment = 256;  // of what cuMemAlloc returns

std::uint64_t pageSize() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::uint64_t DeviceMemory::allocate(std::uint64_t bytes) {
  if (bytes == 0 || bytes > limit_ - used_) return 0;
  const std::uint64_t page = pageSize();
  const std::uint64_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::uint64_t whole = (padded + page - 1) / page * page;
  void* const mapping =
      ::mmap(nullptr, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return 0;
  const auto begin = reinterpret_cast<std::uint64_t>(mapping) + page;
  const std::uint64_t address = begin + whole - padded;
  allocations_[address] = {mapping, whole + 2 * page, bytes};
  used_ += bytes;
  return address;
}

bool DeviceMemory::release(std::uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  open();
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(address);
  unscrubbed_ += std::any_of(begin, begin + found->second.bytes, [](std::uint8_t b) { return b != 0; });
  close();
  used_ -= found->second.bytes;
  ::munmap(found->second.mapping, found->second.mapped);
  allocations_.erase(found);
  return true;
}

bool DeviceMemory::contains(std::uint64_t address, std::uint64_t bytes) const {
  auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return false;
  const auto& [begin, allocation] = *--next;
  return address - begin <= allocation.bytes && bytes <= allocation.bytes - (address - begin);
}

void DeviceMemory::open() {
  const std::uint64_t page = pageSize();
  for (const auto& [address, one] : allocations_)
    ::mprotect(static_cast<std::byte*>(one.mapping) + page, one.mapped - 2 * page, PROT_READ | PROT_WRITE);
}

void DeviceMemory::close() {
  const std::uint64_t page = pageSize();
  for (const auto& [address, one] : allocations_)
    ::mprotect(static_cast<std::byte*>(one.mapping) + page, one.mapped - 2 * page, PROT_NONE);
}

DeviceMemory::~DeviceMemory() {
  for (const auto& [address, one] : allocations_) ::munmap(one.mapping, one.mapped);
}

}  // namespace kiln::emulated
