// The reputation of a worker: how its leases have ended, and how many it gets for that. A worker of which
// nothing is known gets few.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "storage/postgres/connection.h"

namespace kiln::queue {

// Leases at a time of a worker of which nothing is known; each good end adds one, each bad one halves what
// was added.
inline constexpr int kUnprovenSlots = 4;
inline constexpr int kMaxSlots = 256;
// After this many bad ends in a row a worker is held back: it gets only what no other live worker could take,
// for a minute, then twice as long with each further one, at most about an hour.
inline constexpr int kFailuresBeforeBackoff = 3;
inline constexpr Duration kMaxBackoff = std::chrono::minutes(64);

enum class LeaseOutcome { kGood, kBad };

// (T) For the worker of this operator; one that never called is left alone.
Status recordOutcome(postgres::Connection& connection, const std::string& operatorName,
                     const std::string& worker, LeaseOutcome outcome, TimePoint now);

struct Reputation {
  int slots = kUnprovenSlots;
  bool heldBack = false;
};
Result<Reputation> reputationOf(postgres::Connection& connection, const std::string& operatorName,
                                const std::string& worker, TimePoint now);

struct HeldBack {
  std::string operatorName, worker;
  TimePoint until;
};
// Everybody who is held back now.
Result<std::vector<HeldBack>> heldBack(postgres::Connection& connection, TimePoint now);

}  // namespace kiln::queue
