#include "compiler_core/tuner/search.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace kiln::tuner {
namespace {

// A program is tuned once and run with any number of threads: a kernel keeps enough tasks for as many as
// this, if its default has them, though fewer may be faster on the threads that measure.
constexpr double kSharedTasks = 16;
// How many schedules the knobs are expanded to before the cost model looks at them.
constexpr std::size_t kMostExpanded = std::size_t{1} << 16;

std::vector<Schedule> expand(const std::vector<schedule::Knob>& knobs) {
  std::vector<Schedule> all = {{}};
  for (const schedule::Knob& knob : knobs) {
    std::vector<Schedule> longer;
    for (const Schedule& head : all)
      for (const auto& value : knob.values) {
        if (longer.size() >= kMostExpanded) break;
        longer.push_back(head);
        longer.back().insert_or_assign(knob.name, value);
      }
    all = std::move(longer);
  }
  return all;
}

std::vector<Schedule> schedulesOf(const schedule::Site& site, const Schedule& standard) {
  std::vector<schedule::Knob> knobs = schedule::knobsOf(site);
  const auto winograd = std::ranges::find(knobs, schedule::kWinogradKnob, &schedule::Knob::name);
  if (winograd == knobs.end()) return expand(knobs);
  const schedule::Knob kinds = *winograd;
  winograd->values = {standard.at(kinds.name)};
  std::vector<Schedule> all = expand(knobs);
  for (schedule::Knob& knob : knobs)
    if (knob.name == kinds.name)
      knob.values.assign(kinds.values.begin() + 1, kinds.values.end());
    else if (knob.name != schedule::kTileKnob && knob.name != schedule::kStepsKnob)
      knob.values = {standard.at(knob.name)};
  std::ranges::move(expand(knobs), std::back_inserter(all));
  return all;
}

std::int64_t winogradOf(const Schedule& schedule) {
  return schedule::numberOf(schedule, schedule::kWinogradKnob, 0);
}

}  // namespace

Search::Search(const schedule::Site& site, const Schedule& standard, const Machine& machine)
    : best_(standard) {
  const double leastTasks = std::min(kSharedTasks, tasksOf(standard, site));
  std::vector<std::pair<double, Schedule>> rated;
  for (Schedule& schedule : schedulesOf(site, standard)) {
    if (schedule == standard || !schedule::check(schedule, site)) continue;
    if (tasksOf(schedule, site) < leastTasks) continue;
    const double cycles = estimatedCycles(schedule, site, machine);
    if (std::isfinite(cycles)) rated.emplace_back(cycles, std::move(schedule));
  }
  std::ranges::sort(rated);
  for (auto& [cycles, schedule] : rated) {
    if (candidates_.size() == kMostCandidates) break;
    const bool isFirst = winogradOf(schedule) != winogradOf(standard) &&
                         std::ranges::find(first_, winogradOf(schedule), winogradOf) == first_.end();
    (isFirst ? first_ : candidates_).push_back(std::move(schedule));
  }
  std::ranges::reverse(first_);
}

bool Search::isNeighbour(const Schedule& schedule) const {
  std::size_t differences = 0;
  for (const auto& [knob, values] : schedule) differences += best_.at(knob) != values;
  return differences == 1;
}

std::optional<Schedule> Search::next() {
  if (!first_.empty()) {
    Schedule schedule = std::move(first_.back());
    first_.pop_back();
    return schedule;
  }
  if (candidates_.empty()) return std::nullopt;
  auto chosen = std::ranges::find_if(candidates_, [&](const Schedule& s) { return isNeighbour(s); });
  if (chosen == candidates_.end()) chosen = candidates_.begin();
  Schedule schedule = std::move(*chosen);
  candidates_.erase(chosen);
  return schedule;
}

}  // namespace kiln::tuner
