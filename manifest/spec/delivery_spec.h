// DeliverySpec: who builds, how urgently, with which checks. Never hashed. The JSON form is described in
// manifest/FORMAT.md and manifest/schemas/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/spec/compile_spec.h"

namespace kiln {

// What to check each artifact with: a check plan (compiler_core/runtime/check/plan.h) and the files it names,
// as blobs.
struct CheckRequest {
  Digest plan;
  std::vector<ModelFile> files;  // sorted by path
  // What has a device of its own (cuda:*) runs on an emulated one, and the statement says so.
  bool emulated = false;
  bool operator==(const CheckRequest&) const = default;
};

// An artifact to make again and compare, instead of publishing.
struct RebuildRequest {
  Digest artifact;  // the OCI manifest
  std::vector<std::string>
      builders;  // who may not do it: those who made it first; the farm adds those it knows
  bool operator==(const RebuildRequest&) const = default;
};

// Kernels get schedules that were measured, instead of the defaults.
struct TuningRequest {
  bool search = false;               // measure what is not known yet; else what is known is taken
  std::uint32_t budgetSeconds = 60;  // of a search, per target
  bool operator==(const TuningRequest&) const = default;
};

struct DeliverySpec {
  int builders = 1;   // workers that must agree
  int operators = 1;  // distinct operators among them
  // Published when more than half of at least three builders agree; the others are recorded as dissenting.
  // Without it, one that differs fails the job.
  bool majority = false;
  int priority = 0;  // higher first
  std::uint32_t timeLimitSeconds = 3600;
  bool noCache = false;
  // When the job ends that is not done by then: so many seconds after it was submitted, or at a time, by the
  // coordinator's clock. At most one of them.
  std::optional<std::uint32_t> deadlineSeconds = {};
  std::optional<TimePoint> deadline = {};
  // The most that its runs may be estimated to take together; a job estimated to take longer is refused.
  std::optional<std::uint32_t> maxWorkerSeconds = {};
  std::optional<CheckRequest> check;      // nothing: artifacts are published unchecked
  std::optional<TuningRequest> tuning;    // nothing: what the toolchain's catalogue has, else the defaults
  bool defaultSchedules = false;          // the defaults alone; goes without tuning
  bool keepIr = false;                    // each artifact gets the IR behind each stage as a referrer
  std::optional<RebuildRequest> rebuild;  // one target, not from the cache, without a check, tuning or IR
  bool operator==(const DeliverySpec&) const = default;

  Json toJson() const;
  static Result<DeliverySpec> fromJson(const Json& json);
};

}  // namespace kiln
