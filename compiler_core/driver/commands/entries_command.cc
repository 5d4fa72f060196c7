// kiln-cc entries: takes from tuning records what the kernels of a plan need.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/commands/tuning_documents.h"
#include "manifest/base/printable.h"

namespace kiln::driver {

CommandResult entriesCommand(const EntriesArguments& arguments) {
  const auto plan = readPlan(arguments.plan);
  if (!plan) return tl::make_unexpected(plan.error());
  // Kernels that no record decides keep what the toolchain's catalogue has; of one that several records have
  // the last one's counts.
  std::map<std::string, TuningEntry> chosen;
  for (const PlannedKernel& kernel : plan->kernels)
    if (kernel.catalogue)
      chosen[kernel.signature] = {kernel.signature, kernel.templateName, *kernel.catalogue};
  for (const std::string& path : arguments.records) {
    const auto record = readRecord(path);
    if (!record) return tl::make_unexpected(record.error());
    if (record->target != plan->target)
      return stop(kExitUsage, {Code::kInvalidArgument,
                               fmt::format("{}: the record is for {}, the plan is for {}", path,
                                           printable(record->target, 100), plan->target),
                               {}});
    // Records may be of other models that share kernels: what the plan does not have is left out.
    const auto isPlanned = [&](const TunedKernel& kernel) { return plan->find(kernel.signature) != nullptr; };
    if (!record->kernels.empty() && std::ranges::none_of(record->kernels, isPlanned))
      return stop(kExitUsage,
                  {Code::kInvalidArgument,
                   fmt::format("{}: none of its kernels is in the plan {}; give the plan that was measured",
                               path, arguments.plan),
                   {}});
    for (const TunedKernel& kernel : record->kernels)
      if (choose(kernel).reason == TuningChoice::Reason::kDefaultBest) chosen.erase(kernel.signature);
    for (const TuningEntry& entry : entriesOf(*record).entries)
      if (plan->find(entry.signature)) chosen[entry.signature] = entry;
  }
  TuningEntries entries{plan->target, {}};
  for (auto& [signature, entry] : chosen) entries.entries.push_back(std::move(entry));
  if (auto fits = checkEntries(entries, *plan); !fits) return stop(kExitUsage, fits.error());
  if (auto written = writeDocument(arguments.out, entries.toJson()); !written)
    return stop(exitCodeOf(written.error().code), written.error());
  return {};
}

}  // namespace kiln::driver
