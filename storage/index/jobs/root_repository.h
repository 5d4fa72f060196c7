// The roots of the reachable part of the store, which garbage collection must not lose.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

struct ArtifactRoot {
  Digest manifest;  // the OCI image manifest
  std::optional<Digest> fixtures;
  std::vector<BundleRecord> bundles;
};

// The roots of one instance. A digest may be in several lists.
struct InstanceRoots {
  std::map<Digest, ArtifactRoot> artifacts;  // every published one, by its manifest
  std::vector<Digest> toolchains;            // trees: every label's, and those of open jobs
  std::vector<Digest> locks, admissions;     // of labelled toolchains: ToolchainLocks, bundles
  std::vector<Digest> tuned,
      tuningStatements;  // records, and tuning.json of open jobs; bundles about records
  // What jobs that have not ended need:
  std::vector<Digest> sources, actions;
  std::vector<std::string> deliveries;  // canonical JSON
  // What builders left that counts for open jobs, and what was disputed since the time asked for.
  std::vector<ResultRecord> results;
};

// By instance. To be called in a transaction that sees one state throughout (kRepeatableRead).
Result<std::map<std::string, InstanceRoots>> loadRoots(postgres::Connection& connection,
                                                       TimePoint disputedSince);

}  // namespace kiln::index
