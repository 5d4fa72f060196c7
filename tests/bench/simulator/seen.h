// What the simulated workers have seen of a farm.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kiln::fleet {

struct Seen {
  std::uint64_t calls = 0;                      // of Synchronize that were answered
  std::uint64_t reports = 0;                    // of finished actions, in these calls
  std::map<int, std::uint64_t> failures;        // of calls, by gRPC's code
  std::map<std::string, std::uint64_t> leases;  // by tenant
  std::map<int, std::uint64_t> perSecond;       // leases, by the second of the steady clock
  std::vector<double> waits;                    // of calls that asked for work and brought some, in seconds
  std::vector<double> recoveries;  // of workers that were watched, until the next answer, in seconds

  std::uint64_t allLeases() const;
  Seen& operator+=(const Seen& other);
};

}  // namespace kiln::fleet
