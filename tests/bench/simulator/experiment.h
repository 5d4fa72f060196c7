// The phases of one run of bench_fleet: a fleet that waits, work that comes to it, a backlog, and a death.
#pragma once

#include <memory>
#include <string>

#include "manifest/json/json.h"
#include "tests/bench/simulator/farm.h"
#include "tests/bench/simulator/fleet.h"
#include "tests/bench/simulator/job_mix.h"
#include "tests/bench/simulator/options.h"

namespace kiln::fleet {

// Not thread safe. Each phase wants those before it, and adds its figures to figures().
class Experiment {
 public:
  Experiment(const Options& options, const JobMix& mix);

  // Starts the processes and makes the tenants' instances begin.
  Status begin();
  // All workers call and find nothing to do.
  Status idle();
  // Jobs come to them over SubmitJob, so many a second.
  Status arrivals();
  // There is more queued than they can take at once.
  Status backlog();
  // While that goes on, a coordinator is killed. One that is alone is started again at once; of several, the
  // others take over.
  Status death();
  // Whether anything was lost on the way.
  Status account();

  // Times in milliseconds unless the name says otherwise.
  const Json& figures() const { return figures_; }

 private:
  struct Mark {
    std::chrono::steady_clock::time_point at;
    double coordinators = 0, postgres = 0, simulator = 0;  // CPU seconds
  };
  Mark mark() const;
  // Seconds, calls, failures and CPU since `from`.
  Json since(const Mark& from, const Seen& seen) const;

  const Options options_;
  const JobMix& mix_;
  std::unique_ptr<Farm> farm_;
  std::unique_ptr<Fleet> fleet_;
  double leasesPerSecond_ = 0;  // of the backlog
  Json figures_ = Json::object();
};

}  // namespace kiln::fleet
