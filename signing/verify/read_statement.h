// From a bundle to a statement that counts.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "manifest/artifact/manifest.h"
#include "manifest/statement/check_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/tombstone.h"
#include "signing/bundle/bundle.h"
#include "signing/policy/evaluate.h"
#include "signing/recall/recalls.h"
#include "signing/trust/root_logs.h"

namespace kiln::signing {

using StatementBody = std::variant<Provenance, CheckStatement, Reproduction, Tombstone, Attestation>;

struct CountedStatement {
  StatementBody said;
  StatementEvidence evidence;
  std::optional<TimePoint> cosigned;  // some trusted witness had seen the log by then
  std::string without;                // which of its builders do not count, and why; "" for none
};

// What a statement must be about.
struct StatementSubject {
  Digest artifact, config;
  const Manifest& manifest;  // whose canonical form is `config`
};

// Thread safe. What is passed by reference must outlive it.
class StatementReader {
 public:
  // What witnesses say of the time counts once `witnesses` of them say so: one of several may lie, or have a
  // clock that is wrong.
  StatementReader(const TrustRoot& root, const Recalls* recalls, TimePoint now, int witnesses = 1);

  // The statement in a bundle whose signature holds, about this artifact and in agreement with its manifest.
  // kPermissionDenied if it does not count: a key that the root does not list, not for this builder, not at
  // this time, revoked, recalled. kDataLoss or kInvalidArgument if it is malformed, badly signed, of another
  // artifact, or comes with a log entry that proves nothing. A provenance is without the builders that were
  // recalled.
  Result<CountedStatement> read(const std::string& bundle, const StatementSubject& about) const;

 private:
  struct Opened;
  Result<Opened> open(const std::string& text) const;
  Status checkSigner(const Opened& opened, const std::string& id) const;
  Status checkRecalled(const Opened& opened, std::optional<TimePoint> madeAt,
                       const std::vector<std::string>& sources,
                       const std::vector<std::string>& devices) const;
  Status checkWorker(const Opened& opened, TimePoint madeAt, const std::string& worker,
                     const std::string& operatorName) const;
  Result<CountedStatement> readProvenance(Opened opened, const Json& predicate,
                                          const StatementSubject& about) const;
  Result<StatementBody> readOther(const Opened& opened, const Statement& statement,
                                  const StatementSubject& about) const;

  const TrustRoot& root_;
  const Recalls* recalls_;
  const TimePoint now_;
  const std::size_t witnesses_;
  const RootLogs logs_;
};

}  // namespace kiln::signing
