#include "coordinator/scheduler/requirements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "manifest/json/json.h"
#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"

namespace kiln::scheduler {
namespace {

struct Found {
  std::size_t workers = 0, operators = 0;
};

bool has(const auto& list, const auto& value) {
  return std::ranges::find(list, value) != list.end();
}

// Whether a healthy device of the worker executes programs for `target`, one of "a,b".
bool executes(const index::WorkerRecord& worker, const std::string& target, bool emulated) {
  return has(emulated && wantsDevice(target) ? worker.emulates : worker.runs, target);
}

bool serves(const index::WorkerRecord& worker, const Requirement& requirement) {
  if (!has(worker.kinds, requirement.kind)) return false;
  if (requirement.target.empty()) return true;
  return std::ranges::all_of(targetNames(requirement.target), [&](const std::string& target) {
    return index::wantsDevice(requirement.kind) ? executes(worker, target, requirement.emulated)
                                                : has(worker.targets, target);
  });
}

bool registered(const FleetView& fleet, const index::WorkerRecord& worker) {
  return worker.slots > 0 && fleet.now - worker.lastContact <= fleet.registeredFor;
}

// The drained devices that a worker would serve this check or tune with, were they healthy; none if that is
// not all that it lacks.
std::vector<DrainedDevice> drainedFor(const FleetView& fleet, const index::WorkerRecord& worker,
                                      const Requirement& check) {
  std::vector<DrainedDevice> used;
  if (!registered(fleet, worker) || !has(worker.kinds, check.kind)) return used;
  for (const std::string& target : targetNames(check.target)) {
    if (executes(worker, target, check.emulated)) continue;
    const auto device = std::ranges::find_if(fleet.drained, [&](const DrainedDevice& one) {
      return one.worker == worker.name && one.operatorName == worker.operatorName &&
             one.emulated == (check.emulated && wantsDevice(target)) && has(one.runs, target);
    });
    if (device == fleet.drained.end()) return {};
    used.push_back(*device);
  }
  return used;
}

// "device gpu0 of worker w1 is drained (it fell off the bus)" of what this requirement waits for; "" if
// drained devices are not what it lacks.
std::string waitsFor(const FleetView& fleet, const Requirement& requirement) {
  if (!index::wantsDevice(requirement.kind)) return "";
  for (const index::WorkerRecord& worker : fleet.workers) {
    std::vector<std::string> texts;
    for (const DrainedDevice& device : drainedFor(fleet, worker, requirement))
      texts.push_back(
          fmt::format("device {} of worker {} is drained ({})", device.id, device.worker, device.reason));
    if (!texts.empty()) return fmt::format("{}", fmt::join(texts, ", "));
  }
  return "";
}

Found find(const FleetView& fleet, const Requirement& requirement) {
  std::set<std::string> workers, operators;
  for (const index::WorkerRecord& worker : fleet.workers) {
    if (!registered(fleet, worker) || !serves(worker, requirement)) continue;
    workers.insert(worker.operatorName + "/" + worker.name);
    operators.insert(worker.operatorName);
  }
  return {workers.size(), operators.size()};
}

std::string describe(const Requirement& requirement, const Found& found) {
  std::string what = fmt::format("{}{}{}", actionKindName(requirement.kind),
                                 requirement.target.empty() ? "" : " for ", requirement.target);
  if (found.workers == 0 && index::wantsDevice(requirement.kind))
    return fmt::format("no worker has a healthy {}device for the {}", requirement.emulated ? "emulated " : "",
                       what);
  if (found.workers == 0 && requirement.kind == index::ActionKind::kFetch)
    return "no worker fetches git repositories";
  if (found.workers == 0) return "no worker does " + what;
  if (found.workers < static_cast<std::size_t>(requirement.workers))
    return fmt::format("{} builders are wanted for {}, but {} worker{} it", requirement.workers, what,
                       found.workers, found.workers == 1 ? " does" : "s do");
  return fmt::format("{} operators are wanted for {}, but the workers that do it have {}",
                     requirement.operators, what, found.operators);
}

std::string listed(const FleetView& fleet, std::vector<std::string> index::WorkerRecord::* member) {
  std::set<std::string> targets;
  for (const index::WorkerRecord& worker : fleet.workers)
    if (registered(fleet, worker)) targets.insert((worker.*member).begin(), (worker.*member).end());
  return targets.empty() ? "none" : fmt::format("{}", fmt::join(targets, ", "));
}

// What to do about it.
std::string remedy(const std::vector<Requirement>& missing) {
  const auto fetch = [](const Requirement& one) { return one.kind == index::ActionKind::kFetch; };
  if (!std::ranges::all_of(missing, fetch))
    return "Start a worker that serves what is missing, or choose another target";
  return "Start a worker that may fetch from the repository's host, with kiln-worker --fetch-hosts HOST, or "
         "clone the repository and build from its file or from git+file://";
}

// What the fleet has of what `missing` lacks.
std::string served(const FleetView& fleet, const std::vector<Requirement>& missing) {
  const auto any = [&](auto condition) { return std::ranges::any_of(missing, condition); };
  const auto check = [](const Requirement& one) { return index::wantsDevice(one.kind); };
  std::string text;
  if (any([&](const Requirement& one) { return !check(one) && one.kind != index::ActionKind::kFetch; }))
    text = "Targets served by its workers: " + listed(fleet, &index::WorkerRecord::targets) + ". ";
  if (!any(check)) return text;
  text += "Its healthy devices execute " + listed(fleet, &index::WorkerRecord::runs) + ", emulated ones " +
          listed(fleet, &index::WorkerRecord::emulates) + ". ";
  if (any([&](const Requirement& one) {
        return one.kind == index::ActionKind::kCheck && !one.emulated && wantsDevice(one.target);
      }))
    text +=
        "Without the check the artifact is published as unchecked; --check-emulated checks it on an "
        "emulated device, for tests. ";
  return text;
}

}  // namespace

std::vector<Requirement> requirementsOf(const std::vector<std::string>& targets, const DeliverySpec& delivery,
                                        bool fetches) {
  std::vector<Requirement> out{{index::ActionKind::kReference, "", 1, 1}};
  if (fetches) out.push_back({index::ActionKind::kFetch, "", 1, 1});
  for (const std::string& target : targets)
    out.push_back({index::ActionKind::kCompile, target, delivery.builders, delivery.operators});
  if (delivery.tuning)
    for (const std::string& target : targets) {
      out.push_back({index::ActionKind::kPlan, target, delivery.builders, delivery.operators});
      if (delivery.tuning->search && isSearched(target))
        out.push_back({index::ActionKind::kTune, target, 1, 1});
    }
  if (delivery.keepIr)
    for (const std::string& target : targets) out.push_back({index::ActionKind::kIr, target, 1, 1});
  if (!delivery.check) return out;
  for (const std::string& target : targets) {
    const bool emulated = delivery.check->emulated && wantsDevice(target);
    if (emulated) out.push_back({index::ActionKind::kEmulate, target, 1, 1});
    out.push_back({index::ActionKind::kCheck, target, 1, 1, emulated});
  }
  return out;
}

Status checkSatisfiable(const std::vector<Requirement>& requirements, const FleetView& fleet) {
  std::vector<std::string> missing;
  std::vector<Requirement> lacking;
  Json details = Json::array();
  for (const Requirement& requirement : requirements) {
    Found found = find(fleet, requirement);
    if (found.workers >= static_cast<std::size_t>(requirement.workers) &&
        found.operators >= static_cast<std::size_t>(requirement.operators))
      continue;
    missing.push_back(describe(requirement, found));
    lacking.push_back(requirement);
    details.push_back({{"kind", actionKindName(requirement.kind)},
                       {"target", requirement.target},
                       {"workersWanted", requirement.workers},
                       {"workersFound", found.workers},
                       {"operatorsWanted", requirement.operators},
                       {"operatorsFound", found.operators}});
  }
  if (missing.empty()) return {};
  std::string text = fmt::format("{}", fmt::join(missing, "; "));
  if (fleet.now < fleet.graceUntil)
    return fail(
        Code::kUnavailable,
        text + ", but the coordinator has only just started and workers may still report; try again shortly");
  std::vector<std::string> waits;
  for (const Requirement& requirement : lacking) waits.push_back(waitsFor(fleet, requirement));
  if (!has(waits, ""))
    return fail(Code::kUnavailable,
                fmt::format("{}: {}. Its worker tries a drained device again; submit again when `kiln "
                            "workers` shows it healthy, or ask the farm's operator",
                            text, fmt::join(waits, "; ")));
  return fail(
      Error{Code::kUnimplemented,
            fmt::format("this farm cannot build it: {}. {}{}", text, served(fleet, lacking), remedy(lacking)),
            Json{{"missing", std::move(details)}}.dump()});
}

}  // namespace kiln::scheduler
