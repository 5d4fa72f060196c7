// How a worker's leases have ended, and what it gets for that. Nobody is trusted with much before anything of
// it has come to a good end.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "storage/postgres/connection.h"

namespace kiln::queue {

// Leases at a time of a worker of which nothing is known; each good end adds one, each bad one halves what
// was added.
inline constexpr int kUnprovenSlots = 4;
inline constexpr int kMostSlots = 256;
// After this many bad ends in a row a worker is held back: it gets only what no other live worker could take,
// for a minute, then twice as long with each further one, at most about an hour.
inline constexpr int kPatience = 3;
inline constexpr Duration kLongestPause = std::chrono::minutes(64);

enum class Ending { kGood, kBad };

// (T) For the worker of this operator; one that never called is left alone.
Status recordEnding(postgres::Connection& connection, const std::string& operatorName,
                    const std::string& worker, Ending ending, TimePoint now);

struct Conduct {
  int slots = kUnprovenSlots;
  bool heldBack = false;
};
Result<Conduct> conductOf(postgres::Connection& connection, const std::string& operatorName,
                          const std::string& worker, TimePoint now);

struct HeldBack {
  std::string operatorName, worker;
  TimePoint until;
};
// Everybody who is held back now.
Result<std::vector<HeldBack>> heldBack(postgres::Connection& connection, TimePoint now);

}  // namespace kiln::queue
