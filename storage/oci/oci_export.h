// The contents of an export by its own index. Nothing of it is trusted: digests are checked as the blobs are
// read, and the artifact, its bundles and its fixtures are verified by whoever opens it.
#pragma once

#include <optional>
#include <vector>

#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/oci_layout.h"
#include "storage/oci/oci_layout_store.h"

namespace kiln::storage {

struct OciExport {
  Digest artifact;
  std::vector<Digest> bundles;
  std::vector<FixtureFile> fixtures;
  std::optional<Digest> recalls;         // recalls.json
  std::optional<ClosureConfig> closure;  // of an export with inputs
  std::vector<LayoutEntry> referrers;    // all that refer to the artifact, in the index's order
};

// kInvalidArgument if the index names no artifact or more than one, manifests that are too large together, or
// more bundles than BundleCount allows, or a manifest is malformed; kDataLoss and kNotFound for blobs.
// Manifests of other types, or about other subjects, are passed over.
Result<OciExport> readExport(OciLayoutStore& store);

// Adds a bundle to an export: its blob, a manifest that refers to the artifact, and last, by one rename, the
// index. kPermissionDenied if the directory cannot be written, kResourceExhausted if BundleCount allows no
// more.
Status addBundle(const std::string& directory, const OciExport& current, std::string_view bundle);

}  // namespace kiln::storage
