// Schedules in the documents of this folder: an object of knobs, each an array of integers:
// {"tile":[96,256]}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/json/reader.h"
#include "manifest/tuning/schedule.h"

namespace kiln {

// One knob's value, [96,256]; `place` is that of the schedule.
Result<std::vector<std::int64_t>> readKnob(const Json& values, const std::string& place);
Json scheduleJson(const Schedule& schedule);
// kInvalidArgument naming the member.
Result<Schedule> readSchedule(ObjectReader& parent, std::string_view name);

// "sha256:<hex>" of what a document names without its size: a kernel's signature, an entry.
Result<std::string> readHash(ObjectReader& parent, std::string_view name);

// A name of a template: as a knob's.
Result<std::string> readTemplate(ObjectReader& parent);

}  // namespace kiln
