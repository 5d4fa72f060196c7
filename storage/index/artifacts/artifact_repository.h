// Published artifacts, their statements and what went into them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "manifest/base/short_digest.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// Stores the artifact, its files, the statement with its edges, and the action as a cache entry. Publishing
// the same again changes nothing; a further statement about a known artifact is added to it, and the fixtures
// that it came with take the place of those before (earlier statements keep naming theirs).
Status insertPublication(postgres::Connection& connection, const PublicationRecord& publication);

// A further statement about a published artifact, which is then due to be judged if the instance has a policy
// (verdict_repository.h). Its mentions go in with it if it brings them (BundleRecord::signer); if not, they
// follow (mention_repository.h).
Status insertStatement(postgres::Connection& connection, const std::string& instance, const Digest& artifact,
                       const BundleRecord& bundle);

// The same without making it due; false if the statement was there.
Result<bool> storeStatement(postgres::Connection& connection, const std::string& instance,
                            const Digest& artifact, const BundleRecord& bundle);

// With everything about it; of its jobs, the first 1000.
Result<std::optional<ArtifactRecord>> loadArtifact(postgres::Connection& connection,
                                                   const std::string& instance, const Digest& artifact);
// Without files, bundles, builders, jobs and models.
Result<std::optional<ArtifactRecord>> findArtifact(postgres::Connection& connection,
                                                   const std::string& instance, const Digest& artifact);
// Those whose hash lies in the range, two at most: where there are more, none of them is meant.
Result<std::vector<Digest>> findArtifactsIn(postgres::Connection& connection, const std::string& instance,
                                            const DigestRange& range);
// Adds files and bundles.
Status loadEvidence(postgres::Connection& connection, ArtifactRecord& artifact);
// A blob that a published artifact names (the manifest itself, its config, a file, a bundle), by its hash,
// with its size.
Result<std::optional<Digest>> findPublishedBlob(postgres::Connection& connection, const std::string& instance,
                                                const Digest& hash);
// The published artifacts that name a blob (as above), newest first, 256 at most.
Result<std::vector<Digest>> findArtifactsOf(postgres::Connection& connection, const std::string& instance,
                                            const Digest& blob);
constexpr int kListedJobs = 16;  // an artifact that the cache hands out has any number of them
// Newest first, up to `limit`, without files and with the first kListedJobs jobs of each; from after the
// artifact `before` if it is given (unknown: none). Takes five statements, however many artifacts there are.
Result<std::vector<ArtifactRecord>> listArtifacts(postgres::Connection& connection,
                                                  const std::string& instance, int limit,
                                                  const std::optional<Digest>& before = {});
// By hash, after `after`, up to `limit`, with files alone. Takes two statements.
Result<std::vector<ArtifactRecord>> listArtifactsByHash(postgres::Connection& connection,
                                                        const std::string& instance, const Digest& after,
                                                        int limit);

// The artifacts that these compile actions became, by action, without files, bundles, builders, jobs and
// models. Actions that are unknown, or about which builders disagreed, are absent.
Result<std::map<Digest, ArtifactRecord>> findByActions(postgres::Connection& connection,
                                                       const std::string& instance,
                                                       const std::vector<Digest>& actions);

}  // namespace kiln::index
