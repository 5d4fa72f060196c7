// Schedules in the documents of this folder: an object of knobs, each an array of integers:
// {"tile":[96,256]}.
#pragma once

#include <string_view>

#include "manifest/json/reader.h"
#include "manifest/tuning/schedule.h"

namespace kiln {

Json scheduleJson(const Schedule& schedule);
// kInvalidArgument naming the member.
Result<Schedule> readSchedule(ObjectReader& parent, std::string_view name);

// "sha256:<hex>" of what a document names without its size: a kernel's signature, an entry.
Result<std::string> readHash(ObjectReader& parent, std::string_view name);

// A name of a template: as a knob's.
Result<std::string> readTemplate(ObjectReader& parent);

}  // namespace kiln
