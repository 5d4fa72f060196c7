// Compares what a farm's database says of the entries of its log with the entries and checkpoints themselves.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "api/audit/audit_trust.h"
#include "signing/log/leaf.h"

namespace kiln::audit {

// Holds the state of one walk. Not thread safe; what is passed by reference must outlive it.
class LogRows {
 public:
  LogRows(const Audit& audit, LogHistory& history) : audit_(audit), history_(history) {}

  // Before entries that share no answer with those before: roots of checkpoints that are too many to keep go.
  void forget();

  // The checkpoints of one answer, and the row about the log: to be called before the answer's entries are
  // checked. Each that is wrong is reported once. Errors are of the log being asked.
  Status take(const v1::ListLoggedResponse& page);

  // The row of an entry: its leaf, what the signature is known by, and its proof under the checkpoint that it
  // names.
  void check(std::uint64_t place, const std::string& entry, const signing::Leaf& leaf,
             const v1::LoggedEntry& row);

 private:
  void tampered(const char* table, std::string subject, std::string what) {
    audit_.report(FindingKind::kTamperedRow, table, std::move(subject), std::move(what));
  }
  Status checkCheckpoint(const v1::LoggedCheckpoint& row);
  void checkProof(std::uint64_t place, const std::string& entry, const v1::LoggedEntry& row);

  const Audit& audit_;
  LogHistory& history_;
  // What the newest answer said of the row about the log: a farm of an earlier release does not tell all of
  // this.
  bool told_ = false, complete_ = false;
  std::map<std::uint64_t, signing::TreeHash> roots_;  // of checkpoints that hold
  std::set<std::uint64_t> wrong_;                     // reported
};

}  // namespace kiln::audit
