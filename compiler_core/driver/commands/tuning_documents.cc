#include "compiler_core/driver/commands/tuning_documents.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "compiler_core/package/files.h"
#include "manifest/base/printable.h"

namespace kiln::driver {
namespace {

template <class T>
tl::expected<T, CommandError> read(const std::string& path, std::uint64_t limit, const char* hint) {
  const auto text = readText(path, limit, hint);
  if (!text) return stop(exitForFile(text.error()), text.error());
  auto json = parseStrictJson(*text, {.bytes = limit});
  if (!json) return stop(kExitUsage, json.error().in(path));
  auto document = T::fromJson(*json);
  if (!document) return stop(kExitUsage, document.error().in(path));
  return std::move(*document);
}

}  // namespace

tl::expected<KernelPlan, CommandError> readPlan(const std::string& directory) {
  auto plan = read<KernelPlan>(directory + "/" + kKernelPlanFile, kMaxKernelPlanBytes,
                               "give the folder that kiln-cc plan wrote");
  std::error_code ignored;  // another folder is a mistake; one that is not there is not found
  if (!plan && plan.error().exit == kExitNotFound && std::filesystem::is_directory(directory, ignored))
    plan.error() = {kExitUsage, Error{Code::kInvalidArgument, plan.error().error.message, {}}};
  return plan;
}
CommandResult checkPlannedFor(const std::string& directory, const KernelPlan& plan, const CompileSpec& spec) {
  if (plan.target != spec.target)
    return stop(kExitUsage, {Code::kInvalidArgument,
                             fmt::format("the plan is for {}, the spec is for {}", plan.target, spec.target),
                             {}});
  const std::string path = directory + "/" + kPlannedSpecFile;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  auto planned = readSpec(path);
  if (!planned) return tl::make_unexpected(planned.error());
  if (*planned == spec) return {};
  const char* other = planned->files == spec.files ? "with other options" : "for another model";
  return stop(kExitUsage,
              {Code::kInvalidArgument,
               fmt::format("the plan was made {}, see {}; give that spec, or make a plan of this one with "
                           "kiln-cc plan",
                           other, path),
               {}});
}

tl::expected<TuningRecord, CommandError> readRecord(const std::string& path) {
  return read<TuningRecord>(path, kMaxTuningRecordBytes, "give a record of kiln-cc tune");
}
tl::expected<TuningEntries, CommandError> readEntries(const std::string& path) {
  return read<TuningEntries>(path, kMaxTuningEntriesBytes, "give tuning entries (see kiln-cc entries)");
}

Status writeDocument(const std::string& path, const Json& document) {
  KILN_ASSIGN(const std::string text, toCanonicalJson(document));
  const std::string unfinished = path + ".unfinished";
  KILN_TRY(package::writeFile(unfinished, asBytes(text)));
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) return fail(errnoError(errno, path));
  return {};
}

tl::expected<schedule::ScheduleOverrides, CommandError> schedulesOf(const TuningEntries& entries,
                                                                    const CompileSpec& spec) {
  if (entries.target != spec.target)
    return stop(kExitUsage, {Code::kInvalidArgument,
                             fmt::format("the tuning entries are for {}, the spec is for {}",
                                         printable(entries.target, 100), spec.target),
                             {}});
  schedule::ScheduleOverrides schedules;
  for (const TuningEntry& entry : entries.entries)
    schedules[entry.signature] = {entry.templateName, entry.schedule, entryDigest(entries.target, entry)};
  return schedules;
}

}  // namespace kiln::driver
