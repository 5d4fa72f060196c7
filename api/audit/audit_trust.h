// Whom an audit trusts, and the signed statements of those.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/audit/finding.h"
#include "api/audit/index_source.h"
#include "api/audit/log_history.h"
#include "manifest/base/clock.h"
#include "manifest/statement/statement.h"
#include "signing/log/verifier_key.h"
#include "signing/trust/trust_root.h"

namespace kiln::audit {

// A trust root, with the keys of its logs and witnesses as proofs want them.
struct AuditTrust {
  const signing::TrustRoot& root;
  TimePoint now;
  std::vector<signing::VerifierKey> logs, witnesses;
  LogHistory* history = nullptr;  // of the log that is walked; null: none is

  static Result<AuditTrust> of(const signing::TrustRoot& root, TimePoint now);
};

struct SignedStatement {
  Statement statement;
  std::string payload, keyId;
};

// Whether an error is about the farm being asked, rather than about what it holds.
bool isOutage(Code code);

// What all checks of one audit share.
struct Audit {
  const BlobReader& blobs;
  const AuditTrust& trust;
  const FindingSink& found;

  void report(FindingKind kind, std::string table, std::string subject, std::string what) const {
    found({kind, std::move(table), std::move(subject), std::move(what)});
  }
};

// Reads a blob of at most `limit` bytes. Nothing, and the finding `missing`, if it is not there or not
// itself; an error if the store could not be asked. missing.what is the blob's name, such as "its bundle".
Result<std::optional<std::string>> readFor(const Audit& audit, const Digest& digest, std::uint64_t limit,
                                           Finding missing);

// The statement that a row of `table` leads to: its bundle is there and signed by a key that the root lists
// and lets speak for whom the statement names, where a log is trusted it holds the signature, and payload and
// predicate type are the row's. Nothing, and findings, otherwise. Of a statement that is `replaced` by a
// later one the root may have let the key go since.
Result<std::optional<SignedStatement>> openStatement(const Audit& audit, const v1::StatementRef& row,
                                                     const std::string& table, bool replaced = false);

}  // namespace kiln::audit
