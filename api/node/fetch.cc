#include "api/node/fetch.h"

#include <optional>

#include "api/node/staging.h"
#include "manifest/spec/path.h"

namespace kiln::node {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 12 << 20;
constexpr std::size_t kMaxBundles = 64;
constexpr std::size_t kMaxFixtures = 4096;

Error verificationFailed(std::string message) {
  return {Code::kDataLoss, std::move(message), R"({"exitCode":5})"};
}

// A small blob in memory, hashed here whatever the store promises.
Result<std::string> readSmall(storage::BlobStore& store, const std::string& instance, const Digest& digest,
                              std::uint64_t limit, const std::string& what) {
  if (digest.size > limit)
    return fail(verificationFailed(what + ": larger than " + std::to_string(limit) + " bytes"));
  std::string text;
  const auto read = store.read(instance, digest, 0, 0, [&](Bytes bytes) -> Status {
    if (bytes.size() > digest.size - text.size())
      return fail(verificationFailed("more bytes arrive than declared"));
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  });
  if (!read) return fail(read.error().in(what));
  if (digestOf(text) != digest)
    return fail(verificationFailed(what + ": what arrived is not " + digest.text()));
  return text;
}

// Whether the store rather than the bytes failed: then the verdict says nothing about the artifact.
bool isTransport(const Error& error) {
  return error.code != Code::kDataLoss && error.code != Code::kNotFound;
}

}  // namespace

Result<signing::Verdict> fetchArtifact(storage::BlobStore& store, const ArtifactRef& ref,
                                       const std::string& destination, const Trust& trust,
                                       const Clock& clock) {
  if (ref.bundles.size() > kMaxBundles) return fail(verificationFailed("more than 64 bundles are offered"));
  if (ref.fixtures.size() > kMaxFixtures)
    return fail(verificationFailed("more than 4096 fixtures are offered"));
  KILN_ASSIGN(auto staging, Staging::begin(destination));

  signing::VerifyRequest request;
  KILN_ASSIGN(const auto artifactJson,
              readSmall(store, ref.instance, ref.artifact, kMaxOciManifestBytes, "artifact.json"));
  KILN_TRY(staging.write("artifact.json", asBytes(artifactJson)));
  request.artifactJson = artifactJson;
  request.artifact = ref.artifact;
  for (const auto& digest : ref.bundles) {
    KILN_ASSIGN(auto bundle,
                readSmall(store, ref.instance, digest, kMaxBundleBytes, "bundle " + digest.text()));
    KILN_TRY(staging.write("bundles/" + digest.hex() + ".sigstore.json", asBytes(bundle)));
    request.bundles.push_back(std::move(bundle));
  }
  std::optional<Error> transport;
  request.read = [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) -> Status {
    auto status = staging.download(file.path, file.digest, store, ref.instance, sink);
    if (!status && isTransport(status.error()) && !transport) transport = status.error();
    return status;
  };
  auto verdict = signing::verifyArtifact(request, trust.root, trust.policy, clock);
  if (transport) return fail(std::move(*transport));
  if (!verdict.passed) return fail(verificationError(verdict));

  for (const auto& fixture : ref.fixtures) {
    if (!checkRelativePath(fixture.path))
      return fail(verificationFailed("fixture \"" + fixture.path + "\": unsafe path"));
    KILN_TRY(staging.download("fixtures/" + fixture.path, fixture.digest, store, ref.instance, nullptr));
  }
  if (!ref.fixtures.empty()) {
    KILN_TRY(staging.write(std::string("fixtures/") + kFixtureList, asBytes(fixtureList(ref.fixtures))));
  }
  KILN_TRY(staging.commit());
  return verdict;
}

}  // namespace kiln::node
