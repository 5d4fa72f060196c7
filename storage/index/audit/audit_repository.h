// The questions that auditors ask, page by page. Every answer names the signed statements that prove it; the
// index only leads to them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/index/audit/affected_query.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// A statement with its edges, as they are stored.
struct StatementRecord {
  Digest artifact;
  BundleRecord bundle;  // with signer and its own mentions
  std::vector<MaterialRecord> materials;
  std::vector<BuilderRecord> builders;
  std::vector<Mention> inherited;  // mentions of its artifact's content
  std::vector<std::string>
      inconsistent;  // tables whose copies of its artifact and time differ from its own row
};
// About one artifact, oldest first, after `after`.
Result<std::vector<StatementRecord>> listStatementsOf(postgres::Connection& connection,
                                                      const std::string& instance, const Digest& artifact,
                                                      const std::optional<Position>& after, int limit);
// The compiles that the cache answers with artifacts, by the artifact's hash (the size is 0); those that
// answer nothing are absent.
Result<std::map<Digest, std::vector<Digest>>> listActionsOf(postgres::Connection& connection,
                                                            const std::string& instance,
                                                            const std::vector<Digest>& artifacts);

// Who asked for an artifact: no statement proves it.
struct SubmissionRecord {
  std::string jobId, submitter, target;
  TimePoint submitted;
  bool cached = false;
  std::vector<SourceRecord> sources;  // the model first
};
// Oldest first, after the job of this id.
Result<std::vector<SubmissionRecord>> listSubmissions(postgres::Connection& connection,
                                                      const std::string& instance, const Digest& artifact,
                                                      const std::string& after, int limit);

// What the farm keeps of one entry of its log.
struct LoggedRecord {
  std::uint64_t place = 0;
  std::string instance;           // as its row says; "" where the log alone is known
  bool whole = true;              // the row's payload is the one that its hash and its log digest are of
  bool kept = false;              // that instance is another one, whose index has the statement
  std::optional<Digest> payload;  // nothing: known from the log alone
  std::string table;  // where the instance has the statement: statements, toolchain_admissions, or nowhere
  Digest bundle;      // of that row
  Digest logDigest;
  std::string leaf, proof;                // the proof: hash after hash
  std::optional<std::uint64_t> treeSize;  // of the first checkpoint that covers it
};
struct LoggedPage {
  std::uint64_t from = 0;  // place of the first
  int limit = 0;
};
// By place. `payloadTypes`: those of the envelopes that come into the log. A statement whose artifact or
// toolchain has no row is nowhere.
Result<std::vector<LoggedRecord>> listLogged(postgres::Connection& connection, const std::string& instance,
                                             const LoggedPage& page,
                                             const std::vector<std::string>& payloadTypes);

// Whether the instance has a verdict on the artifact that came into the log behind this place: of verdicts
// the index keeps the newest.
Result<bool> hasLaterVerdict(postgres::Connection& connection, const std::string& instance,
                             const Digest& artifact, std::uint64_t place);

// The statements by which labels were given to these trees, oldest first; at most 1000.
Result<std::vector<AdmissionRecord>> listAdmissions(postgres::Connection& connection,
                                                    const std::string& instance,
                                                    const std::vector<Digest>& trees);

}  // namespace kiln::index
