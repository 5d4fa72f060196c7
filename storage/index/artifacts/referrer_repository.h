// Bundles as OCI clients find them: each stands in an OCI manifest of its own whose subject is the artifact
// (manifest/artifact/oci_layout.h). The manifests are not stored: they follow from artifact and bundle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// An artifact and bundles about it, oldest first.
struct Referrers {
  Digest artifact;
  std::vector<Digest> bundles;
};

// Gives every statement that has none the digest of its bundle's OCI manifest: statements of earlier
// releases, and what insertStatement() just added. Idempotent.
Status nameReferrers(postgres::Connection& connection);

// Nothing if the instance has no such artifact.
Result<std::optional<Referrers>> loadReferrers(postgres::Connection& connection, const std::string& instance,
                                               const Digest& artifact);
// The one bundle whose OCI manifest has this hash.
Result<std::optional<Referrers>> findReferrer(postgres::Connection& connection, const std::string& instance,
                                              const Digest& hash);

}  // namespace kiln::index
