// The changes of a stored job. Each is idempotent where the coordinator repeats steps after a crash.
#pragma once

#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// Appends actions to the job's list, the first at position `firstOrdinal`. Positions already taken are left
// alone.
Status addActions(postgres::Connection& connection, const JobKey& key, std::size_t firstOrdinal,
                  const std::vector<ActionRecord>& actions);
Status addRuns(postgres::Connection& connection, const std::vector<RunRecord>& runs);

// What a fetch found for the source number `ordinal`.
struct ResolvedSource {
  int ordinal = 0;
  std::string path;     // SourceRecord::path
  std::string gitPath;  // of the file; of a folder it was what the submitter named
  Digest blob;
  std::vector<SourceRecord> further;  // what came with it
  std::string spec;                   // JobRecord::spec, which may name parameters that were found
};
Status resolveSource(postgres::Connection& connection, const JobKey& key, const ResolvedSource& resolved);

Status setTargetArtifact(postgres::Connection& connection, const JobKey& key, int ordinal,
                         const Digest& artifact, bool cached, const std::vector<std::string>& builders);
Status setTargetCheck(postgres::Connection& connection, const JobKey& key, int ordinal, CheckOutcome outcome);
// The IR of its artifact is kept.
Status setTargetIr(postgres::Connection& connection, const JobKey& key, int ordinal);
// What its compile gets.
Status setTargetTuning(postgres::Connection& connection, const JobKey& key, int ordinal,
                       const Digest& tuning);
// Gives the job a new revision: something that it shows has changed elsewhere.
Status touchJob(postgres::Connection& connection, const JobKey& key);
// Results of earlier jobs no longer count for this job.
Status stopReuse(postgres::Connection& connection, const JobKey& key);
Status wantCancel(postgres::Connection& connection, const JobKey& key);

// Ends the job if it is open, cancelling the runs that are still queued or leased. False if it had ended
// already.
Result<bool> endJob(postgres::Connection& connection, const JobKey& key, JobState state,
                    const std::optional<JobErrorRecord>& error, TimePoint now);

}  // namespace kiln::index
