// The documents of tuning (manifest/tuning) as files. Private to this folder.
#pragma once

#include <string>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/schedule/choice/schedule_override.h"
#include "manifest/tuning/kernel_plan.h"
#include "manifest/tuning/record.h"

namespace kiln::driver {

// Every failure to read is one of usage and names the file.
tl::expected<KernelPlan, CommandError> readPlan(const std::string& directory);
// What the plan was made for stands beside it, so that a spec of another model is not measured as this one's.
// A farm hands a tuner plans without it.
inline constexpr char kPlannedSpecFile[] = "planned-spec.json";
CommandResult checkPlannedFor(const std::string& directory, const KernelPlan& plan, const CompileSpec& spec);
tl::expected<TuningRecord, CommandError> readRecord(const std::string& path);
tl::expected<TuningEntries, CommandError> readEntries(const std::string& path);

// Canonical JSON, in the place of an old file from one moment to the next.
Status writeDocument(const std::string& path, const Json& document);

// What a compile takes; for the target of `spec` or a failure of usage.
tl::expected<schedule::ScheduleOverrides, CommandError> schedulesOf(const TuningEntries& entries,
                                                                    const CompileSpec& spec);

}  // namespace kiln::driver
