// Schedules that override the defaults, and what is told about kernels that may have one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/schedule/choice/schedule.h"

namespace kiln::schedule {

struct ScheduleOverride {
  std::string templateName;  // which the kernel must be of
  Schedule schedule;
  std::string entry;  // digest of the tuning entry, for the manifest; empty: none
  // Where it comes from the toolchain's catalogue: the default that it was measured to beat. A kernel with
  // another default keeps that, as does one that the schedule is not legal for, and the program need not have
  // the kernel. Nothing where the schedule was given, which holds or is refused.
  std::optional<Schedule> insteadOf = {};

  bool isFromCatalogue() const { return insteadOf.has_value(); }
};
// The rule of a kernel that has its schedule from the catalogue, beside those of the defaults and "given".
inline constexpr std::string_view kCatalogueRule = "catalogue";
// By the kernel's signature.
using ScheduleOverrides = std::map<std::string, ScheduleOverride, std::less<>>;

// A kernel as kiln-tile finds it.
struct KernelFound {
  const std::string& signature;
  const std::string& isolated;  // the text behind the signature
  const std::vector<std::string>& nodes;
  const Site& site;
  const Schedule& standard;  // the default
};

}  // namespace kiln::schedule
