// kiln-cc plan: lists the kernels of a program that can be measured by themselves, with their texts.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/commands/tuning_catalogue.h"
#include "compiler_core/driver/commands/tuning_documents.h"
#include "compiler_core/package/files.h"

namespace kiln::driver {
namespace {

// What a compile takes for the kernel where it is given no entries.
std::optional<Schedule> cataloguedFor(const schedule::ScheduleOverride& known, const PlannedKernel& kernel) {
  if (known.templateName != kernel.templateName || known.insteadOf != kernel.schedule ||
      !checkKnobs(known.schedule, kernel))
    return std::nullopt;
  return known.schedule;
}

}  // namespace

CommandResult planCommand(const PlanArguments& arguments) {
  auto spec = readSpec(arguments.spec);
  if (!spec) return tl::make_unexpected(spec.error());
  auto request = requestFor(arguments.model, *spec, arguments.toolchain);
  if (!request) return tl::make_unexpected(request.error());
  if (auto taken = takeCatalogue(*request); !taken) return taken;
  for (const std::string& directory : {arguments.out, arguments.out + "/kernels"})
    if (auto made = package::makeDirectory(directory); !made)
      return stop(exitCodeOf(made.error().code), made.error());
  fmt::print(stderr, "stage: {}\n", stageName(Stage::kPlan));
  std::map<std::string, PlannedKernel> kernels;
  Status written;
  CompileObserver observer;
  observer.onKernel = [&](const schedule::KernelFound& found) {
    auto [place, isNew] = kernels.try_emplace(found.signature);
    PlannedKernel& kernel = place->second;
    if (!isNew) {
      ++kernel.count;
      return;
    }
    kernel.signature = found.signature;
    kernel.templateName = schedule::templateOf(found.site.shape.kind);
    kernel.nodes = found.nodes;
    kernel.work = static_cast<std::uint64_t>(std::min(schedule::workOf(found.site.shape), 1e18));
    kernel.schedule = found.standard;
    for (schedule::Knob& knob : schedule::knobsOf(found.site))
      kernel.knobs.emplace(std::move(knob.name), std::move(knob.values));
    const auto known = request->schedules.find(found.signature);
    if (known != request->schedules.end()) kernel.catalogue = cataloguedFor(known->second, kernel);
    auto file =
        package::writeFile(arguments.out + "/" + moduleFile(found.signature), asBytes(found.isolated));
    if (!file && written) written = fail(file.error());
  };
  const auto result = compile(*request, observer);
  if (!result) return stop(result.error());
  if (!written) return stop(exitCodeOf(written.error().code), written.error());
  KernelPlan plan{spec->target, {}};
  for (auto& [signature, kernel] : kernels) plan.kernels.push_back(std::move(kernel));
  if (plan.kernels.size() > kMaxPlannedKernels)
    return stop(kExitUnsupported, {Code::kResourceExhausted,
                                   fmt::format("the program has {} different kernels, a plan at most {}",
                                               plan.kernels.size(), kMaxPlannedKernels),
                                   {}});
  const std::pair<const char*, Json> documents[] = {{kPlannedSpecFile, spec->toJson()},
                                                    {kKernelPlanFile, plan.toJson()}};
  for (const auto& [name, document] : documents)
    if (auto done = writeDocument(arguments.out + "/" + name, document); !done)
      return stop(exitCodeOf(done.error().code), done.error());
  if (const auto unplanned =
          std::ranges::count_if(result->schedule.kernels, &std::string::empty, &KernelEvidence::signature))
    fmt::print(stderr,
               "plan: {} of {} kernels cannot be measured by themselves, as where a size is known to a run "
               "alone: they keep their default schedules\n",
               unplanned, result->schedule.kernels.size());
  return {};
}

}  // namespace kiln::driver
