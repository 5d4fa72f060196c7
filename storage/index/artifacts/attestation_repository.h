// Statements of third parties about published artifacts.
#pragma once

#include <optional>
#include <string>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

struct AttestationLimits {
  std::int64_t perArtifact = 32;  // far below kMaxBundles, which the farm's own statements count towards too
  std::int64_t perInstance = 100'000;
  std::int64_t bytesPerArtifact = 32 << 20;  // of bundles, likewise below kMaxBundlesBytes
};

// kResourceExhausted if there is no room for another, whose bundle has `bytes`.
Status checkRoom(postgres::Connection& connection, const std::string& instance, const Digest& artifact,
                 std::uint64_t bytes, const AttestationLimits& limits);
// The statement of this payload, if it is kept as a third party's.
Result<std::optional<BundleRecord>> findAttestation(postgres::Connection& connection,
                                                    const std::string& instance, const Digest& payload);
// In a transaction. Keeps the statement; those of one instance one after the other, so that the limits hold.
// Again changes nothing.
Status insertAttestation(postgres::Connection& connection, const std::string& instance,
                         const Digest& artifact, const BundleRecord& bundle, const AttestationLimits& limits);

}  // namespace kiln::index
