#include "api/cli/view/session_view.h"

#include "compiler_core/runtime/device/cuda_driver.h"

namespace kiln::cli {

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
                    {"driver", runtime::cudaVersionText(counters.device_driver_version)},
                    {"emulated", counters.device_emulated != 0},
                    {"plannedBytes", counters.device_planned_bytes},
                    {"observedBytes", counters.device_observed_bytes},
                    {"transferBytes", counters.device_transfer_bytes},
                    {"replayedRuns", counters.replayed_runs}};
  return json;
}

}  // namespace kiln::cli
