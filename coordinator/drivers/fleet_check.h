// Whether the fleet can ever do what is wanted of it: asked before anything is queued, so that nothing hangs.
#pragma once

#include <string>
#include <vector>

#include "coordinator/recall/judging.h"
#include "coordinator/scheduler/requirements.h"
#include "storage/postgres/connection.h"

namespace kiln::service {

struct FleetQuestion {
  const std::string& instance;
  std::vector<scheduler::Requirement> wanted;
  std::vector<std::string> without;  // workers that do not count, by name
};

// kUnimplemented or kUnavailable as scheduler::checkSatisfiable(); kPermissionDenied (exit code 5) where only
// recalled workers, who get no leases, could do it.
Status checkServed(const Judging& judging, TimePoint graceUntil, postgres::Connection& connection,
                   const FleetQuestion& question);

}  // namespace kiln::service
