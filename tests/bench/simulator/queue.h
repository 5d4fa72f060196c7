// How work comes to a farm under a simulated fleet.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/steady_clock.h"
#include "tests/bench/simulator/farm.h"
#include "tests/bench/simulator/job_mix.h"

namespace kiln::fleet {

// A job that was submitted over its RPC.
struct Submitted {
  std::vector<std::string> actions;  // hashes
  TimePoint acknowledged;            // by the steady clock
  double seconds = 0;                // that SubmitJob took
};

// Uploads a model that nobody has seen and submits it. `name` makes it so.
Result<Submitted> submit(Farm& farm, const MixedJob& job, const std::string& name);

// Submits one job after the other, so many a second, for so long.
Result<std::vector<Submitted>> submitAtRate(Farm& farm, const std::vector<MixedJob>& jobs, double perSecond);

// Queues these jobs, one compile each. One of each tenant is submitted over its RPC and the rest are copies
// of its rows, with an action of their own each, written into the database: below the RPCs, and without news
// of each, as in a farm that has had this queue for a while. The workers must be known, and must not call.
Status queueCopies(Farm& farm, const std::vector<MixedJob>& jobs, const std::string& name);

// Runs that are queued, by tenant.
Result<std::vector<std::pair<std::string, std::int64_t>>> queuedByTenant(Farm& farm);

}  // namespace kiln::fleet
