// TuningEntries: the schedules that a compile takes instead of its defaults. An input of the compile action,
// so part of its digest; nothing measured is in it. FORMAT.md, "Tuning".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/json/json.h"
#include "manifest/tuning/kernel_plan.h"
#include "manifest/tuning/schedule.h"

namespace kiln {

inline constexpr char kTuningEntriesFile[] = "tuning.json";
inline constexpr std::uint64_t kMaxTuningEntriesBytes = 16u << 20;

struct TuningEntry {
  std::string signature;  // of the kernel
  std::string templateName;
  Schedule schedule;
  bool operator==(const TuningEntry&) const = default;
};

// "sha256:<hex>" of {"schedule","signature","target","template"} in canonical JSON: what manifests name.
std::string entryDigest(std::string_view target, const TuningEntry& entry);

struct TuningEntries {
  std::string target;
  std::vector<TuningEntry> entries;  // sorted by signature, each once

  const TuningEntry* find(std::string_view signature) const;
  Json toJson() const;
  // kInvalidArgument naming the member. Whether knobs are in range is the compiler's to say.
  static Result<TuningEntries> fromJson(const Json& json);
  bool operator==(const TuningEntries&) const = default;
};

// kInvalidArgument unless `entries` are for the plan's target and each is of a kernel of the plan, with its
// template and knobs that the plan lists: names what is foreign.
Status checkEntries(const TuningEntries& entries, const KernelPlan& plan);

}  // namespace kiln
