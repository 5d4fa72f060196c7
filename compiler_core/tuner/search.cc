#include "compiler_core/tuner/search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "compiler_core/schedule/strategies/registry.h"

namespace kiln::tuner {
namespace {

// A program is tuned once and run with any number of threads: a kernel keeps enough tasks for as many as
// this, if its default has them, though fewer may be faster on the threads that measure.
constexpr double kSharedTasks = 16;
// How many schedules of one way to compute a kernel the cost model looks at.
constexpr std::size_t kMaxRated = std::size_t{1} << 16;

// In how many knobs they differ.
std::size_t differences(const Schedule& a, const Schedule& b) {
  std::size_t count = 0;
  for (const auto& [knob, values] : a) count += b.at(knob) != values;
  return count;
}

using Knobs = std::vector<schedule::Knob>;

// The knobs of each way to compute a kernel. Those that mean nothing to a way keep the default's value.
std::vector<Knobs> waysOf(Knobs knobs) {
  std::vector<Knobs> others;
  for (const schedule::Strategy* strategy : schedule::strategies()) {
    const auto knob = std::ranges::find(knobs, strategy->way, &schedule::Knob::name);
    if (knob == knobs.end()) continue;
    const auto values = std::exchange(knob->values, {{0}});
    for (const auto& value : values) {
      if (value == knob->values.front()) continue;
      for (schedule::Knob& other : others.emplace_back(knobs)) {
        if (other.name == strategy->way) other.values = {value};
        if (std::ranges::find(strategy->unused, other.name) != strategy->unused.end()) other.values.resize(1);
      }
    }
  }
  others.insert(others.begin(), std::move(knobs));
  return others;
}

// Whether the schedule is a combination of the knobs' values.
bool isOfWay(const Schedule& schedule, const Knobs& way) {
  return std::ranges::all_of(way, [&](const schedule::Knob& knob) {
    return std::ranges::find(knob.values, schedule.at(knob.name)) != knob.values.end();
  });
}

// A combination of the knobs' values by its number. Number 0 has the first of each.
struct Rated {
  double cycles = 0;
  std::size_t changed =
      0;  // knobs with another value than the first: of equal estimates the fewest come first
  std::size_t number = 0;
  auto operator<=>(const Rated&) const = default;
};

Schedule scheduleOf(const Knobs& knobs, std::size_t number) {
  Schedule schedule;
  for (const schedule::Knob& knob : knobs) {
    schedule.insert_or_assign(knob.name, knob.values[number % knob.values.size()]);
    number /= knob.values.size();
  }
  return schedule;
}

// Those that the cost model does not rule out, best estimate first. One schedule changes from number to
// number: there are tens of thousands.
std::vector<Rated> rate(const Knobs& knobs, const schedule::Site& site, const Machine& machine,
                        double minTasks) {
  std::vector<Rated> rated;
  Schedule schedule = scheduleOf(knobs, 0);
  std::vector<std::size_t> at(knobs.size(), 0);
  for (std::size_t number = 0; number < kMaxRated; ++number) {
    if (tasksOf(schedule, site) >= minTasks)
      if (const double cycles = estimatedCycles(schedule, site, machine); std::isfinite(cycles))
        rated.push_back({cycles, at.size() - static_cast<std::size_t>(std::ranges::count(at, 0u)), number});
    std::size_t i = 0;
    for (; i < knobs.size(); ++i) {
      at[i] = at[i] + 1 < knobs[i].values.size() ? at[i] + 1 : 0;
      schedule.find(knobs[i].name)->second = knobs[i].values[at[i]];
      if (at[i] != 0) break;
    }
    if (i == knobs.size()) break;
  }
  std::ranges::sort(rated);
  return rated;
}

}  // namespace

Search::Search(const schedule::Site& site, const Schedule& standard, const Machine& machine)
    : best_(standard) {
  const double minTasks = std::min(kSharedTasks, tasksOf(standard, site));
  const std::vector<Knobs> ways = waysOf(schedule::knobsOf(site));
  // By cycles, then knobs that are changed.
  std::vector<std::tuple<double, std::size_t, Schedule>> found, first;
  for (const Knobs& knobs : ways) {
    // Each way has its share, so that estimates alone never rule one out.
    std::size_t left = kMaxCandidates / ways.size();
    bool isFirst = !isOfWay(standard, knobs);
    for (const Rated& one : rate(knobs, site, machine, minTasks)) {
      if (left == 0) break;
      Schedule schedule = scheduleOf(knobs, one.number);
      if (schedule == standard || !schedule::check(schedule, site)) continue;
      (std::exchange(isFirst, false) ? first : found)
          .emplace_back(one.cycles, one.changed, std::move(schedule));
      --left;
    }
  }
  std::ranges::sort(found);
  std::ranges::sort(first, std::greater());
  for (auto& [cycles, changed, schedule] : found) candidates_.push_back(std::move(schedule));
  for (auto& [cycles, changed, schedule] : first) first_.push_back(std::move(schedule));
}

std::optional<Schedule> Search::next() {
  if (!first_.empty()) {
    Schedule schedule = std::move(first_.back());
    first_.pop_back();
    return schedule;
  }
  if (candidates_.empty()) return std::nullopt;
  auto chosen =
      std::ranges::find_if(candidates_, [&](const Schedule& s) { return differences(s, best_) == 1; });
  if (chosen == candidates_.end()) chosen = candidates_.begin();
  Schedule schedule = std::move(*chosen);
  candidates_.erase(chosen);
  return schedule;
}

}  // namespace kiln::tuner
