#include "api/cli/view/session_view.h"

#include <string_view>

namespace kiln::cli {

std::string driverText(const kiln_counters& counters) {
  const std::string version = counters.device_api_version;
  if (counters.device_api != std::string_view("vulkan")) return "CUDA " + version;
  return "Vulkan " + version + " by " + counters.device_driver;
}

Json countersJson(const kiln_counters& counters) {
  Json json{{"path", counters.path},
            {"threads", counters.threads},
            {"runs", counters.runs},
            {"failedRuns", counters.failed_runs},
            {"guardFailures", counters.guard_failures},
            {"outOfRangeIndices", counters.out_of_range_indices},
            {"transferBytes", counters.transfer_bytes},
            {"tensorBytes", counters.tensor_bytes},
            {"paddingBytes", counters.padding_bytes},
            {"plannedBytes", counters.planned_bytes},
            {"observedPeakBytes", counters.observed_peak_bytes},
            {"weightBytes", counters.weight_bytes},
            {"loadNanoseconds", counters.load_nanoseconds},
            {"warmupNanoseconds", counters.warmup_nanoseconds},
            {"firstRunNanoseconds", counters.first_run_nanoseconds},
            {"runNanoseconds", counters.run_nanoseconds}};
  if (counters.device_name == nullptr) return json;
  json["device"] = {{"name", counters.device_name},
                    {"api", counters.device_api},
                    {"driver", counters.device_api_version},
                    {"emulated", counters.device_emulated != 0},
                    {"plannedBytes", counters.device_planned_bytes},
                    {"observedBytes", counters.device_observed_bytes},
                    {"transferBytes", counters.device_transfer_bytes},
                    {"replayedRuns", counters.replayed_runs}};
  if (counters.device_cache[0] != '\0') json["device"]["cache"] = counters.device_cache;
  if (counters.device_type[0] != '\0') {
    json["device"]["type"] = counters.device_type;
    json["device"]["driverName"] = counters.device_driver;
    json["device"]["conformance"] = counters.device_conformance;
  }
  return json;
}

}  // namespace kiln::cli
