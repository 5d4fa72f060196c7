#include "api/client/artifact_ref.h"

#include "manifest/base/short_digest.h"
#include "storage/tree/digest_proto.h"
#include "storage/tree/tree_walk.h"

namespace kiln::client {
namespace {

constexpr std::size_t kMaxFixtures = 4096;

tl::unexpected<Error> refused(std::string message) {
  return fail(Error{Code::kDataLoss, std::move(message), R"({"exitCode":5})"});
}

// A digest of the index's answer. That there can be none such is the index's fault, not the caller's.
Result<Digest> answered(const reapi::Digest& digest, const char* what) {
  auto read = fromProto(digest);
  if (!read)
    return refused(std::string("the index names no digest of ") + what + ": " + read.error().message);
  return read;
}

Result<std::vector<FixtureFile>> listFixtures(Client& client, const Digest& root) {
  storage::TreeLimits limits;
  limits.entries = kMaxFixtures;
  const auto entries = storage::walkTree(client.blobs(), client.instance(), root, limits);
  if (!entries && entries.error().code == Code::kUnavailable) return fail(client.explain(entries.error()));
  if (!entries) return refused("fixtures: " + entries.error().message);
  std::vector<FixtureFile> files;
  for (const auto& entry : *entries) {
    if (entry.kind == storage::EntryKind::kSymlink)
      return refused("fixtures: " + entry.path + " is a symbolic link");
    if (entry.kind == storage::EntryKind::kFile) files.push_back({entry.path, entry.digest});
  }
  return files;
}

}  // namespace

Result<v1::Artifact> indexEntry(Client& client, const std::string& digest) {
  const bool whole = digest.starts_with("sha256:") && Digest::parse(digest, 0);
  if (!whole && !shortDigestRange(digest))
    return fail(Code::kInvalidArgument,
                "\"" + digest +
                    "\" is no artifact; give sha256:<64 lowercase hex digits>, or the "
                    "first 12 of them or more");
  KILN_ASSIGN(auto artifact, client.artifact(digest));
  KILN_ASSIGN(const Digest manifest, answered(artifact.manifest(), "the artifact"));
  if (!manifest.text().starts_with(digest))
    return refused("the index answers " + digest + " with another artifact");
  return artifact;
}

Result<node::ArtifactRef> partsOf(Client& client, const v1::Artifact& artifact) {
  node::ArtifactRef ref;
  ref.instance = client.instance();
  KILN_ASSIGN(ref.artifact, answered(artifact.manifest(), "the artifact"));
  for (const auto& bundle : artifact.bundles()) {
    KILN_ASSIGN(const Digest each, answered(bundle, "a bundle"));
    ref.bundles.push_back(each);
  }
  if (artifact.has_fixtures()) {
    KILN_ASSIGN(const Digest root, answered(artifact.fixtures(), "the fixtures"));
    KILN_ASSIGN(ref.fixtures, listFixtures(client, root));
  }
  return ref;
}

Result<node::ArtifactRef> findArtifact(Client& client, const std::string& digest) {
  KILN_ASSIGN(const auto artifact, indexEntry(client, digest));
  KILN_ASSIGN(node::ArtifactRef ref, partsOf(client, artifact));
  KILN_ASSIGN(ref.recalls, client.recalls());
  return ref;
}

}  // namespace kiln::client
