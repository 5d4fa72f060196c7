// The order in which the schedules of one kernel are tried.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "compiler_core/tuner/cost.h"

namespace kiln::tuner {

// All combinations of a template's knobs but those that the cost model rules out, best estimate first. What
// differs from the best schedule known so far in one knob comes before everything else, but for the best
// estimate of each way to compute the kernel (winograd 2 and 4): how large a task of these should be, no
// other schedule shows. Deterministic.
class Search {
 public:
  static constexpr std::size_t kMaxCandidates = 4096;

  // The default is known already.
  Search(const schedule::Site& site, const Schedule& standard, const Machine& machine);

  // The schedule to try next; nothing when all have been tried.
  std::optional<Schedule> next();
  // The fastest so far, the default at first.
  void setBest(const Schedule& schedule) { best_ = schedule; }
  std::size_t size() const { return first_.size() + candidates_.size(); }

 private:
  std::vector<Schedule> first_;       // to be tried before all others, the last one first
  std::vector<Schedule> candidates_;  // not tried yet, best estimate first
  Schedule best_;
};

}  // namespace kiln::tuner
