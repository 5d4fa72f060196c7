#include "signing/server/closure.h"

#include "manifest/artifact/fixture_list.h"

namespace kiln::signing {
namespace {

// What the caller can put right is a precondition; the rest (a disk that fails) stays as it is.
Error asPrecondition(const Error& error, const std::string& what) {
  bool fixable = error.code == Code::kNotFound || error.code == Code::kDataLoss ||
                 error.code == Code::kOutOfRange || error.code == Code::kInvalidArgument;
  Error out = error.in(what);
  if (fixable) out.code = Code::kFailedPrecondition;
  return out;
}

Status rehash(storage::BlobStore& store, const std::string& instance, const Digest& digest,
              const std::string& what, std::string* keep) {
  Hasher hasher;
  Status read = store.read(instance, digest, 0, 0, [&](Bytes bytes) -> Status {
    hasher.update(bytes);
    if (keep) keep->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (keep && keep->size() > digest.size) return fail(Code::kDataLoss, "is longer than it should be");
    return {};
  });
  if (!read) return fail(asPrecondition(read.error(), what));
  if (hasher.finish() != digest)
    return fail(Code::kFailedPrecondition, what + ": the store's bytes are not those of " + digest.text());
  return {};
}

}  // namespace

Result<std::string> loadBlob(storage::BlobStore& store, const std::string& instance, const Digest& digest,
                             std::uint64_t limit, const std::string& what) {
  if (digest.size > limit)
    return fail(Code::kFailedPrecondition, what + ": " + std::to_string(digest.size) + " bytes, at most " +
                                               std::to_string(limit) + " are read");
  std::string text;
  KILN_TRY(rehash(store, instance, digest, what, &text));
  return text;
}

Status checkBlob(storage::BlobStore& store, const std::string& instance, const Digest& digest,
                 const std::string& what) {
  return rehash(store, instance, digest, what, nullptr);
}

Result<Closure> loadManifests(storage::BlobStore& store, const std::string& instance,
                              const Digest& artifact) {
  Closure closure;
  KILN_ASSIGN(std::string ociText,
              loadBlob(store, instance, artifact, kMaxOciManifestBytes, "artifact manifest"));
  auto oci = parseOciManifest(ociText);
  if (!oci) return fail(asPrecondition(oci.error(), "artifact manifest"));
  closure.oci = std::move(*oci);
  KILN_ASSIGN(std::string text,
              loadBlob(store, instance, closure.oci.config, kMaxOciManifestBytes, "manifest.json"));
  auto json = parseCanonicalJson(text);
  if (!json) return fail(asPrecondition(json.error(), "manifest.json"));
  auto manifest = Manifest::fromJson(*json);
  if (!manifest) return fail(asPrecondition(manifest.error(), "manifest.json"));
  closure.manifest = std::move(*manifest);
  if (auto same = checkLayers(closure.oci, closure.manifest); !same)
    return fail(asPrecondition(same.error(), "artifact manifest"));
  return closure;
}

Result<Closure> loadClosure(storage::BlobStore& store, const std::string& instance, const Digest& artifact) {
  KILN_ASSIGN(Closure closure, loadManifests(store, instance, artifact));
  for (const ArtifactFile& layer : closure.oci.layers)
    KILN_TRY(rehash(store, instance, layer.digest, layer.path, nullptr));
  return closure;
}

Status checkFixtures(storage::BlobStore& store, const std::string& instance, const Digest& list) {
  KILN_ASSIGN(std::string text, loadBlob(store, instance, list, kMaxFixtureListBytes, kFixtureList));
  auto fixtures = parseFixtureList(text);
  if (!fixtures) return fail(asPrecondition(fixtures.error(), kFixtureList));
  for (const FixtureFile& file : fixtures->files)
    KILN_TRY(rehash(store, instance, file.digest, "fixture " + file.path, nullptr));
  return {};
}

}  // namespace kiln::signing
