// Re-verifies an index against the signed statements it was made from: every row that a statement proves is
// computed again and compared. Page by page, in bounded memory; asked questions alone, so it may run beside a
// working farm.
//
// Not proven by any statement, and so not checked: jobs and who submitted them, and the time at which a
// statement was recorded beyond not being earlier than what it tells of. That a statement was ever made is
// known only where a log says so.
#pragma once

#include <cstdint>
#include <functional>

#include "api/audit/finding.h"
#include "api/audit/index_source.h"
#include "manifest/base/clock.h"
#include "signing/trust/trust_root.h"

namespace kiln::audit {

struct Counts {
  std::uint64_t toolchains = 0, artifacts = 0, statements = 0, findings = 0;
};

struct AuditOptions {
  FindingSink found;                            // called for each finding, from this thread
  std::function<void(const Counts&)> progress;  // after each artifact and toolchain; may be empty
  int pageSize = 100;
};

// Errors are of the farm being asked (kUnavailable and the like); whatever is wrong with the index is a
// finding.
Result<Counts> auditIndex(IndexSource& source, const BlobReader& blobs, const signing::TrustRoot& root,
                          TimePoint now, const AuditOptions& options);

}  // namespace kiln::audit
