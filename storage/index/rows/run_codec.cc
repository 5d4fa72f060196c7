#include "storage/index/rows/run_codec.h"

#include "storage/index/rows/codec.h"

namespace kiln::index {

RunRecord runAt(const postgres::Row& row) {
  RunRecord run;
  run.instance = row.get<std::string>("instance");
  run.id = row.get<std::string>("id");
  run.jobId = row.get<std::string>("job_id");
  run.action = digestAt(row, "action_hash", "action_size");
  run.kind = static_cast<ActionKind>(row.get<int>("kind"));
  run.target = row.get<std::string>("target");
  run.toolchainDigest = digestAt(row, "toolchain_hash", "toolchain_size");
  run.git = gitAt(row, "git");
  run.priority = row.get<int>("priority");
  run.operatorsWanted = row.get<int>("operators_wanted");
  run.excludedWorkers = row.get<std::vector<std::string>>("excluded_workers");
  run.countedOperators = row.get<std::vector<std::string>>("counted_operators");
  run.timeLimitSeconds = row.get<int>("time_limit");
  run.emulated = row.get<bool>("emulated");
  run.subject = {hashAt(row, "subject"), row.get<int>("magnitude")};
  run.jobDeadline = row.get<std::optional<TimePoint>>("job_deadline");
  run.expectedSeconds = row.get<double>("expected");
  run.state = static_cast<RunState>(row.get<int>("state"));
  run.queued = row.get<TimePoint>("queued");
  run.attempts = row.get<int>("attempts");
  run.epoch = row.get<std::uint64_t>("epoch");
  run.worker = row.get<std::string>("worker");
  run.operatorName = row.get<std::string>("operator");
  run.expires = row.get<std::optional<TimePoint>>("expires");
  run.deadline = row.get<std::optional<TimePoint>>("deadline");
  run.devices = row.get<std::vector<std::string>>("devices");
  run.stage = row.get<std::string>("stage");
  run.errorCode = row.get<int>("error_code");
  run.errorMessage = row.get<std::string>("error_message");
  run.revision = row.get<std::uint64_t>("revision");
  return run;
}

}  // namespace kiln::index
