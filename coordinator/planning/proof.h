// What the cache offers is believed for what it proves, not for the row that leads to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/planning/planning.h"
#include "manifest/spec/delivery_spec.h"
#include "manifest/statement/provenance.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// An artifact whose every byte and bundle held, once.
struct ProvenArtifact {
  CompileSpec spec;                    // of its Manifest
  std::vector<Provenance> statements;  // that count
  std::vector<Digest> blobs;           // all that was verified: OCI manifest, config, layers, bundles
};

// What a submission wants of an artifact that is there already.
struct WantedProof {
  const CompileSpec& spec;
  const std::vector<index::MaterialRecord>& materials;  // jobs::materialsOf() the submission
  const DeliverySpec& delivery;
};

// The builders of a provenance statement that this farm signed about the artifact and that answers what is
// wanted, after every byte of the artifact was hashed and every bundle verified: by the same code and rules
// as anybody else's verification, the recalls in force among them. What held is cached for the same artifact,
// bundles, signing key and recalls; of the bytes, the store then says that it hashed them lately and that
// they were not touched since. Nothing if there is none, or if anything about the artifact does not hold.
// `artifact` is with its bundles.
Result<std::optional<std::vector<std::string>>> provenBuilders(const Planning& planning,
                                                               const index::ArtifactRecord& artifact,
                                                               const WantedProof& wanted);

// What the results are of: that decides how they name their outputs.
enum class MadeBy { kBuild, kExecution };

// Takes out the results of other jobs than `job` that their own receipt does not prove: signed by the worker
// that the row names, about this run of this action, with these outputs; and those of workers and operators
// that were recalled.
void dropUnproven(const Planning& planning, const std::string& job, std::vector<index::ResultRecord>& results,
                  MadeBy madeBy = MadeBy::kBuild);

}  // namespace kiln::service
