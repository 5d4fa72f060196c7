// Lanes: the queued runs that ask the same of a worker, by rank. A worker can take any run of a lane or none,
// as far as kind, target and instance go. So it is decided per lane, of which there are few, and not per run,
// of which there may be millions: a loose scan of the index runs_by_lane goes from lane to lane.
//
// A run's rank is the time when it was queued less the time that it is expected to take: of those queued at
// one time the longest goes first, and none waits for ever behind longer ones that come later.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/quota/quota_rules.h"
#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::queue {

struct Lane {
  int priority = 0;
  std::string instance;
  index::ActionKind kind = index::ActionKind::kCompile;
  std::string target;  // several are "a,b": the lane wants a worker of all of them
  bool emulated = false;
  Digest toolchain;  // its size is 0
};

// What a worker takes, for all the runs of a lane alike.
struct LaneFilter {
  std::vector<std::int64_t> kinds;
  std::vector<std::string> targets;                   // to compile for, and whatever wants no device
  std::vector<std::string> runsOn;                    // targets whose programs its free devices execute
  std::vector<std::string> emulatedOn;                // the same for checks that want an emulated device
  std::optional<std::vector<std::string>> instances;  // nullopt: of everybody
  std::vector<Digest> warmToolchains;
  std::shared_ptr<const quota::QuotaRules> quotas;  // null: every instance is alike and has no limit
  Duration warmAdvantage{};  // a lane of a warm toolchain counts as queued this much earlier
};

// The lanes that pass, those first from which a run is to be taken first: by priority, then by how little of
// their instance is running for its weight, then by the rank of their first run. An instance that runs as
// much as it may has no lane; two leases given at one moment may go beyond that by one.
Result<std::vector<Lane>> lanesFor(postgres::Connection& connection, const LaneFilter& filter);

// What decides about a single run.
struct Taker {
  std::string worker, operatorName;
  TimePoint now;
  int attempts = 3;     // leases per run
  TimePoint liveSince;  // another worker that has not called since then takes nothing
  // A worker that is held back gets only what no other live worker with a free slot could take, and what was
  // queued before this time: whoever could take a run, and does not, keeps it from others for that long only.
  // Nothing: it is not held back.
  std::optional<TimePoint> yieldsSince;
  // A worker that has a lease gets no run that was queued since then and nobody has tried, where a live
  // worker without any could take it. Nothing: this one has no lease.
  std::optional<TimePoint> newSince;
};

// (T) Locks the first run of the lane that the worker may take, passing over those that others are leasing,
// and those that wait for the same action, which runs for another job of their instance.
Result<std::optional<index::RunRecord>> lockNext(postgres::Connection& connection, const Lane& lane,
                                                 const Taker& taker);

}  // namespace kiln::queue
