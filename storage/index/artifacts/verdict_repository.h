// The newest verdict of an instance's policy on each of its artifacts, and which artifacts are to be judged.
// insertStatement() makes an artifact due where the instance has a policy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

struct DueArtifact {
  std::string instance;
  Digest artifact;  // by its hash
  TimePoint since;  // when it came up
  std::uint64_t revision = 0;
};

struct VerdictRecord {
  Digest payload;  // of the signed statement
  Digest facts;    // of what it says but its time; the size is 0
  bool passed = false;
};

// From now on the policies with this digest are in force, all instances' together; the size is 0.
Status putPoliciesInForce(postgres::Connection& connection, const Digest& policies);
// Whether they still are.
Result<bool> arePoliciesInForce(postgres::Connection& connection, const Digest& policies);

// In a transaction. The instance has a policy, and its verdicts rest on this; if that is news, all its
// artifacts are due since `now`.
Status setBasis(postgres::Connection& connection, const std::string& instance, const Digest& basis,
                TimePoint now);
// No other instance has a policy.
Status keepPolicies(postgres::Connection& connection, const std::vector<std::string>& instances);

// In the order in which they came up, after `revision`.
Result<std::vector<DueArtifact>> listDue(postgres::Connection& connection, std::uint64_t revision, int limit);
// The revision of the newest among all; 0 if nothing is due.
Result<std::uint64_t> newestDue(postgres::Connection& connection);
// It was judged and nothing is new; it stays due if more came up since.
Status settle(postgres::Connection& connection, const DueArtifact& due);

Result<std::optional<VerdictRecord>> latestVerdict(postgres::Connection& connection,
                                                   const std::string& instance, const Digest& artifact);
// The newest verdicts whose statements these are, by the statement's payload.
struct StoredVerdict {
  Digest artifact;
  VerdictRecord verdict;
};
Result<std::map<Digest, StoredVerdict>> verdictsOf(postgres::Connection& connection,
                                                   const std::string& instance,
                                                   const std::vector<Digest>& payloads);
// In a transaction. The statement in `bundle` is the newest verdict and takes the place of the one before;
// the artifact is settled as above. False, and nothing changes, if it is not due any more: whoever judged in
// the meantime knew more.
Result<bool> insertVerdict(postgres::Connection& connection, const DueArtifact& due,
                           const BundleRecord& bundle, const VerdictRecord& verdict);

}  // namespace kiln::index
