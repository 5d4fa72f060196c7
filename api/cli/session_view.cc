#include "api/cli/session_view.h"

namespace kiln::cli {

Json countersJson(const kiln_counters& counters) {
  return {{"path", counters.path},
          {"threads", counters.threads},
          {"runs", counters.runs},
          {"failedRuns", counters.failed_runs},
          {"guardFailures", counters.guard_failures},
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
}

}  // namespace kiln::cli
