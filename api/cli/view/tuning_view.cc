#include "api/cli/view/tuning_view.h"

#include "api/cli/view/json_text.h"
#include "manifest/json/reader.h"
#include "manifest/tuning/schedule_json.h"

namespace kiln::cli {

std::string scheduleText(const Json& kernel) {
  if (!kernel.is_object() || !kernel.contains("schedule")) return "";
  auto reader = ObjectReader::open(kernel, "kernel");
  if (!reader) return "";
  const auto schedule = readSchedule(*reader, "schedule");
  if (!schedule) return "";
  const std::string entry = textOf(kernel, "tuned"), catalogued = textOf(kernel, "catalogue");
  if (!entry.empty()) return text(*schedule) + ", tuned by entry " + entry;
  return text(*schedule) +
         (catalogued.empty() ? " (default)" : ", by entry " + catalogued + " of the toolchain's catalogue");
}

}  // namespace kiln::cli
