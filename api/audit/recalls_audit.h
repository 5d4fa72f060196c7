// The recalls that a farm has in force, as an auditor's root reads them.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "api/audit/audit_trust.h"
#include "signing/log/leaf.h"
#include "signing/recall/recalls.h"

namespace kiln::audit {

class RecallsInForce {
 public:
  RecallsInForce() = default;

  // Asks the farm. What it does not give, or what the root's recall keys did not sign, is a finding unless
  // `report` is off. Errors are of the farm being asked.
  static Result<RecallsInForce> read(const Audit& audit, IndexSource& source, bool report = true);

  // Whether an entry of the log is signed by a recall key of the root.
  bool isRecall(const signing::Leaf& leaf) const { return keys_.contains(leaf.spki); }
  bool holds(const signing::Leaf& leaf) const { return held_.contains(leaf.digest); }

 private:
  std::set<std::string> keys_;  // SubjectPublicKeyInfo of each
  std::set<std::array<std::uint8_t, 32>> held_;
};

// Holds what the farm has in force against the recalls that the auditor knows: the farm's must begin with
// them. An earlier version, another one of the same keys, or none, is a finding. Errors are of the farm being
// asked.
Status auditKnownRecalls(const Audit& audit, IndexSource& source, const signing::Recalls& known);

}  // namespace kiln::audit
