// Whether the fleet can ever run what a submission needs. Pure. Which run a worker gets next is the queue's
// business.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/spec/delivery_spec.h"
#include "storage/index/rows/records.h"

namespace kiln::scheduler {

// `workers` distinct workers, of at least `operators` operators, that do `kind` for `target` ("" for any). A
// check or tune wants a healthy device that executes the target's programs, an emulated one if `emulated`.
struct Requirement {
  index::ActionKind kind = index::ActionKind::kCompile;
  std::string target;
  int workers = 1;
  int operators = 1;
  bool emulated = false;
};

// What a submission with these targets needs.
std::vector<Requirement> requirementsOf(const std::vector<std::string>& targets, const DeliverySpec& delivery,
                                        bool fetches);

// A device that its worker advertises as not healthy.
struct DrainedDevice {
  std::string worker, operatorName, id, reason;
  std::vector<std::string> runs;  // targets whose programs it executes
  bool emulated = false;
};

struct FleetView {
  std::vector<index::WorkerRecord> workers;  // of the submission's instance
  std::vector<DrainedDevice> drained;
  TimePoint now;
  // A worker that has been silent for longer, or takes nothing, does not count as registered.
  Duration registeredFor = std::chrono::hours(1);
  // Before this point workers may simply not have called yet.
  TimePoint graceUntil;
};

// kUnimplemented naming everything that is missing, with the same as JSON in details; kUnavailable during the
// grace time after a start, and where nothing is missing but what drained devices would do.
Status checkSatisfiable(const std::vector<Requirement>& requirements, const FleetView& fleet);

}  // namespace kiln::scheduler
