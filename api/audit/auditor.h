// Re-verifies an index against the signed statements it was made from, in both directions: every entry of the
// log must lead to a statement of the index, and every row that a statement proves is computed again and
// compared. Page by page, in bounded memory; asks questions alone, so it may run beside a working farm.
//
// Not proven by any statement: jobs and who submitted them (whose rows are held against each other), and the
// time at which a statement was recorded beyond not being earlier than what it tells of.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/audit/finding.h"
#include "api/audit/index_source.h"
#include "api/audit/log_audit.h"
#include "manifest/base/clock.h"
#include "signing/recall/recalls.h"
#include "signing/trust/trust_root.h"

namespace kiln::audit {

struct Counts {
  std::uint64_t toolchains = 0, artifacts = 0, statements = 0, findings = 0;
  LogCounts log;
};

struct AuditOptions {
  FindingSink found;  // called for each finding, from this thread; for the first 100,000 alone
  std::function<void(const Counts&)> progress;  // after each artifact and tile; may be empty
  int pageSize = 100;
  signing::LogSource* log = nullptr;          // null: the log is not walked
  std::string seenCheckpoint;                 // a signed checkpoint that the log must continue; "" for none
  std::uint64_t fromEntry = 0;                // where the walk begins
  const signing::Recalls* recalls = nullptr;  // that the auditor knows; null for none
};

struct Audited {
  Counts counts;
  std::string checkpoint;  // up to which the log was walked; "" if it was not, or is not what it has signed
  // Labels whose admission, by an earlier release, does not say in which instance it was given: it may be
  // another's. No findings.
  std::vector<std::string> withoutInstance;
};

// Errors are of the farm being asked (kUnavailable and the like) or of a log that is none of the root's;
// whatever is wrong with log and index is a finding.
Result<Audited> auditIndex(IndexSource& source, const BlobReader& blobs, const signing::TrustRoot& root,
                           TimePoint now, const AuditOptions& options);

}  // namespace kiln::audit
