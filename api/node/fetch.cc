#include "api/node/fetch.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/node/staging.h"
#include "manifest/artifact/bundle_limit.h"

namespace kiln::node {
namespace {

Error verificationFailed(std::string message) {
  return {Code::kDataLoss, std::move(message), R"({"exitCode":5})"};
}

// The store refuses the digest as none that it could ever hold: what named it is wrong, not the caller.
bool isNoDigest(const Error& error) {
  return error.code == Code::kInvalidArgument || error.code == Code::kOutOfRange;
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
  if (!read && isNoDigest(read.error())) return fail(verificationFailed(what + ": " + read.error().message));
  if (!read) return fail(read.error().in(what));
  if (digestOf(text) != digest)
    return fail(verificationFailed(what + ": what arrived is not " + digest.text()));
  return text;
}

Status checkCount(const ArtifactRef& ref) {
  if (ref.fixtures.size() > kMaxFixtureFiles + 1)
    return fail(verificationFailed("more fixtures are offered than an artifact may have"));
  return {};
}

// The index says which files there are; what they must be is for the signed list to say, so that the digests
// of all but the list are not looked at.
Result<signing::OfferedFixtures> offeredFixtures(storage::BlobStore& store, const ArtifactRef& ref) {
  signing::OfferedFixtures out;
  const FixtureFile* list = nullptr;
  for (const FixtureFile& file : ref.fixtures) {
    if (file.path == kFixtureList)
      list = &file;
    else
      out.files.push_back(file.path);
  }
  if (!list) return fail(verificationFailed("fixtures are offered without their fixtures.json"));
  KILN_ASSIGN(out.list, readSmall(store, ref.instance, list->digest, kMaxFixtureListBytes, kFixtureList));
  return out;
}

struct OfferedBundle {
  Digest digest;
  std::string text;
};

// Each once: rows may lead to one bundle twice. None is read unless all of them may be.
Result<std::vector<OfferedBundle>> offeredBundles(storage::BlobStore& store, const ArtifactRef& ref) {
  BundleCount count;
  std::set<std::string> offered;
  std::vector<Digest> each;
  for (const Digest& digest : ref.bundles) {
    if (!offered.insert(digest.hex()).second) continue;
    if (const Status fits = count.add(digest.size); !fits)
      return fail(verificationFailed("bundles: " + fits.error().message));
    each.push_back(digest);
  }
  std::vector<OfferedBundle> out;
  for (const Digest& digest : each) {
    KILN_ASSIGN(auto text,
                readSmall(store, ref.instance, digest, kMaxBundleBytes, "bundle " + digest.text()));
    out.push_back({digest, std::move(text)});
  }
  return out;
}

// Whether the store rather than the bytes failed: then the verdict says nothing about the artifact.
bool isTransport(const Error& error) {
  return error.code != Code::kDataLoss && error.code != Code::kNotFound && !isNoDigest(error);
}

using FileReader = decltype(signing::VerifyRequest::read);

// The verdict, if it is a good one; an error of the store as such.
Result<signing::Verdict> judge(signing::VerifyRequest& request, const Trust& trust, const Clock& clock,
                               const FileReader& read) {
  std::optional<Error> transport;
  request.read = [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) -> Status {
    auto status = read(file, sink);
    if (!status && isTransport(status.error()) && !transport) transport = status.error();
    return status;
  };
  auto verdict = signing::verifyArtifact(request, trust.root, trust.policy, clock, trust.known());
  if (transport) return fail(std::move(*transport));
  if (!verdict.passed) return fail(verificationError(verdict));
  return verdict;
}

// Manifest, statements, recalls and policy, and nothing of the files.
Result<signing::Verdict> judgeStatements(signing::VerifyRequest& request, storage::BlobStore& store,
                                         const std::string& instance, const Trust& trust,
                                         const Clock& clock) {
  request.statementsOnly = true;
  return judge(request, trust, clock, [&](const ArtifactFile& file, const storage::ByteSink& sink) {
    return store.read(instance, file.digest, 0, 0, sink);
  });
}

}  // namespace

Result<signing::Verdict> fetchArtifact(storage::BlobStore& store, const ArtifactRef& ref,
                                       const std::string& destination, const Trust& trust, const Clock& clock,
                                       const FetchProgress& progress) {
  KILN_TRY(checkCount(ref));
  KILN_ASSIGN(auto staging, Staging::begin(destination));

  signing::VerifyRequest request;
  KILN_ASSIGN(const auto artifactJson,
              readSmall(store, ref.instance, ref.artifact, kMaxOciManifestBytes, "artifact.json"));
  KILN_TRY(staging.write("artifact.json", asBytes(artifactJson)));
  request.artifactJson = artifactJson;
  request.artifact = ref.artifact;
  KILN_ASSIGN(auto bundles, offeredBundles(store, ref));
  for (OfferedBundle& bundle : bundles) {
    KILN_TRY(staging.write("bundles/" + bundle.digest.hex() + ".sigstore.json", asBytes(bundle.text)));
    request.bundles.push_back(std::move(bundle.text));
  }
  if (!ref.fixtures.empty()) {
    KILN_ASSIGN(request.fixtures, offeredFixtures(store, ref));
    KILN_TRY(staging.write("fixtures/fixtures.json", asBytes(request.fixtures->list)));
  }
  Trust current = trust;
  KILN_TRY(current.learnCarried(ref.recalls));
  if (current.recalls) KILN_TRY(staging.write(signing::kRecallsFile, asBytes(current.recalls->text)));
  // How large the files are is anybody's word until it is found to be signed: nothing of them is written
  // before.
  KILN_ASSIGN(const auto stated, judgeStatements(request, store, ref.instance, current, clock));
  request.statementsOnly = false;
  std::uint64_t done = 0, total = 0;
  for (const ArtifactFile& file : stated.manifest.files()) total += file.digest.size;
  const auto tell = [&] {
    if (progress) progress(std::min(done, total), total);  // the Manifest and fixtures come on top
  };
  tell();
  KILN_ASSIGN(auto verdict,
              judge(request, current, clock, [&](const ArtifactFile& file, const storage::ByteSink& sink) {
                return staging.download(file.path, file.digest, store, ref.instance,
                                        [&](Bytes bytes) -> Status {
                                          KILN_TRY(sink(bytes));
                                          done += bytes.size();
                                          tell();
                                          return {};
                                        });
              }));
  KILN_TRY(staging.commit());
  KILN_TRY(current.learn(verdict));
  return verdict;
}

namespace {

// What is needed of an artifact before its files: its own manifest and the bundles, with the recalls that
// came along taken in.
Result<signing::VerifyRequest> requestFor(storage::BlobStore& store, const ArtifactRef& ref,
                                          std::string& artifactJson, Trust& trust) {
  signing::VerifyRequest request;
  KILN_ASSIGN(artifactJson,
              readSmall(store, ref.instance, ref.artifact, kMaxOciManifestBytes, "artifact.json"));
  request.artifactJson = artifactJson;
  request.artifact = ref.artifact;
  KILN_ASSIGN(auto bundles, offeredBundles(store, ref));
  for (OfferedBundle& bundle : bundles) request.bundles.push_back(std::move(bundle.text));
  KILN_TRY(trust.learnCarried(ref.recalls));
  return request;
}

}  // namespace

Result<signing::Verdict> examineArtifact(storage::BlobStore& store, const ArtifactRef& ref, Trust& trust,
                                         const Clock& clock) {
  std::string artifactJson;
  KILN_ASSIGN(auto request, requestFor(store, ref, artifactJson, trust));
  KILN_ASSIGN(auto verdict, judgeStatements(request, store, ref.instance, trust, clock));
  KILN_TRY(trust.learn(verdict));
  return verdict;
}

Result<signing::Verdict> fetchIr(storage::BlobStore& store, const ArtifactRef& ref,
                                 const std::string& destination, Trust& trust, const Clock& clock) {
  KILN_ASSIGN(auto staging, Staging::begin(destination));
  KILN_ASSIGN(auto verdict, examineArtifact(store, ref, trust, clock));
  const IrStatement* ir = verdict.ir();
  if (!ir)
    return fail(Code::kNotFound, "no statement that counts names an IR of " + verdict.artifact.text() +
                                     "; kiln build MODEL --target " + verdict.manifest.spec.target +
                                     " --keep-ir has the farm make it");
  for (const ModelFile& file : ir->files)
    KILN_TRY(staging.download(file.path, file.digest, store, ref.instance, nullptr));
  KILN_TRY(staging.commit());
  return verdict;
}

Result<signing::Verdict> verifyOffered(storage::BlobStore& store, const ArtifactRef& ref, Trust& trust,
                                       const Clock& clock) {
  KILN_TRY(checkCount(ref));
  std::string artifactJson;
  KILN_ASSIGN(auto request, requestFor(store, ref, artifactJson, trust));
  if (!ref.fixtures.empty()) {
    KILN_ASSIGN(request.fixtures, offeredFixtures(store, ref));
  }
  // As in fetchArtifact(): nothing of the files is asked for before.
  KILN_TRY(judgeStatements(request, store, ref.instance, trust, clock));
  request.statementsOnly = false;
  KILN_ASSIGN(auto verdict,
              judge(request, trust, clock, [&](const ArtifactFile& file, const storage::ByteSink& sink) {
                return store.read(ref.instance, file.digest, 0, 0, sink);
              }));
  KILN_TRY(trust.learn(verdict));
  return verdict;
}

}  // namespace kiln::node
