#include "api/cli/tuning_view.h"

#include <fmt/format.h>

#include "manifest/json/reader.h"
#include "manifest/tuning/schedule_json.h"

namespace kiln::cli {
namespace {

std::string textOf(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// "pack 1, tile 96x256"; nothing where it is none.
std::optional<std::string> scheduleOf(const Json& kernel) {
  auto reader = ObjectReader::open(kernel, "kernel");
  if (!reader) return {};
  const auto schedule = readSchedule(*reader, "schedule");
  return schedule ? std::optional(text(*schedule)) : std::nullopt;
}

}  // namespace

std::vector<std::string> scheduleLines(const Json& schedule) {
  std::vector<std::string> lines;
  if (!schedule.is_object() || !schedule.contains("kernels") || !schedule["kernels"].is_array()) return lines;
  for (const Json& kernel : schedule["kernels"]) {
    if (!kernel.is_object() || !kernel.contains("schedule")) continue;
    const auto knobs = scheduleOf(kernel);
    if (!knobs) continue;
    const std::string entry = textOf(kernel, "tuned");
    lines.push_back(fmt::format("{}: {}{}", textOf(kernel, "symbol"), *knobs,
                                entry.empty() ? " (default)" : ", tuned by entry " + entry));
  }
  return lines;
}

}  // namespace kiln::cli
