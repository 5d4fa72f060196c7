// Schedules that override the defaults, and what is told about kernels that may have one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/schedule/choice/schedule.h"

namespace kiln::schedule {

struct ScheduleOverride {
  std::string templateName;  // which the kernel must be of
  Schedule schedule;
  std::string entry;  // digest of the tuning entry, for the manifest; empty: none
};
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
