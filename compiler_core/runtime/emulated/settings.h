// The settings of the emulated device, from the environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::emulated {

enum class Order { kAscending, kDescending, kShuffled };

struct Settings {
  int devices = 1;                             // KILN_EMULATED_DEVICES
  std::vector<std::string> arch = {"sm_90a"};  // KILN_EMULATED_ARCH, one or one per device: "sm_90a,sm_80"
  int driverVersion = 13000;                   // KILN_EMULATED_DRIVER: "12.4"
  std::uint64_t memoryBytes = std::uint64_t{4} << 30;  // KILN_EMULATED_MEMORY, of each device
  // KILN_EMULATED_KERNELS: folders of <sha256 of a cubin>.so, separated by ':'; read whenever a cubin is
  // loaded.
  std::vector<std::string> kernels;
  Order order = Order::kAscending;  // KILN_EMULATED_ORDER: "ascending", "descending", "shuffled"
  unsigned threads = 2;             // KILN_EMULATED_THREADS: how many blocks run at a time
  std::uint64_t hang = 0;           // KILN_EMULATED_HANG: this launch of the process, from 1, never ends
  std::uint64_t lost = 0;           // KILN_EMULATED_LOST: after so many launches the device is gone

  // Values that make no sense are left at their defaults and named in `complaint`.
  static Settings fromEnvironment();
  std::string complaint;

  // {9, 0} of device `ordinal`.
  struct Capability {
    int major, minor;
  };
  Capability capability(int ordinal) const;
};

}  // namespace kiln::emulated
