#include "storage/oci/oci_export.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci.h"

namespace kiln::storage {
namespace {

constexpr std::uint64_t kMaxManifestsBytes = 4 * kMaxOciManifestBytes;

Result<std::string> readManifest(OciLayoutStore& store, const Digest& digest) {
  return getBlob(store, {}, digest, kMaxOciManifestBytes);
}

// All are read before it is known which are about the artifact.
Status checkSizes(const std::vector<Digest>& manifests) {
  std::uint64_t bytes = 0;
  for (const Digest& digest : manifests) {
    bytes += std::min<std::uint64_t>(digest.size, kMaxManifestsBytes + 1);
    if (bytes > kMaxManifestsBytes)
      return fail(Code::kInvalidArgument, "index.json names manifests of more than " +
                                              std::to_string(kMaxManifestsBytes) +
                                              " bytes together, which no export of an artifact has");
  }
  return {};
}

Status takeReferrer(OciLayoutStore& store, const Referrer& referrer, BundleCount& bundles, OciExport& out) {
  if (referrer.artifactType == kBundleType) {
    if (referrer.layers.size() != 1) return fail(Code::kInvalidArgument, "a bundle has one layer");
    if (const Status fits = bundles.add(referrer.layers[0].digest.size); !fits)
      return fail(Code::kInvalidArgument, fits.error().message);
    out.bundles.push_back(referrer.layers[0].digest);
  } else if (referrer.artifactType == kFixturesType) {
    if (!out.fixtures.empty()) return fail(Code::kInvalidArgument, "fixtures are there twice");
    for (const ArtifactFile& layer : referrer.layers) out.fixtures.push_back({layer.path, layer.digest});
  } else if (referrer.artifactType == kRecallsType) {
    if (referrer.layers.size() != 1 || out.recalls)
      return fail(Code::kInvalidArgument, "recalls are one layer, once");
    out.recalls = referrer.layers[0].digest;
  } else if (referrer.artifactType == kClosureType) {
    if (out.closure) return fail(Code::kInvalidArgument, "the closure is there twice");
    KILN_ASSIGN(const std::string config, getBlob(store, {}, referrer.config, kMaxOciManifestBytes));
    KILN_ASSIGN(out.closure, parseClosureConfig(config));
  }
  return {};
}

// A file that appears whole or not at all; one that is there already is left alone unless `replace`.
Status place(const std::string& path, std::string_view text, bool replace) {
  if (!replace && ::access(path.c_str(), F_OK) == 0) return {};
  const std::string fresh = path + ".new-" + std::to_string(::getpid());
  KILN_ASSIGN(UniqueFd file, openFile(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444, fresh));
  Status written = writeAll(file.get(), asBytes(text), fresh);
  if (written) written = syncFile(file.get(), fresh);
  if (written && ::rename(fresh.c_str(), path.c_str()) != 0) written = fail(errnoError(errno, path));
  if (!written) ::unlink(fresh.c_str());
  return written;
}

}  // namespace

Result<OciExport> readExport(OciLayoutStore& store) {
  KILN_ASSIGN(const std::string index, store.readText("index.json", kMaxLayoutIndexBytes));
  KILN_ASSIGN(const std::vector<Digest> manifests, parseLayoutIndex(index));
  KILN_TRY(checkSizes(manifests));
  OciExport out;
  std::vector<std::pair<Digest, Referrer>> referrers;
  bool found = false;
  for (const Digest& digest : manifests) {
    KILN_ASSIGN(const std::string text, readManifest(store, digest));
    KILN_ASSIGN(const std::string type, artifactTypeOf(text));
    if (type == kArtifactType) {
      if (found) return fail(Code::kInvalidArgument, "index.json names more than one artifact");
      out.artifact = digest;
      found = true;
    } else if (type == kBundleType || type == kFixturesType || type == kRecallsType || type == kClosureType) {
      auto referrer = parseReferrer(text);
      if (!referrer) return fail(referrer.error().in("manifest " + digest.text()));
      referrers.emplace_back(digest, std::move(*referrer));
    }
  }
  if (!found)
    return fail(Code::kInvalidArgument,
                "index.json names no artifact; kiln export --oci makes a layout of one");
  BundleCount bundles;
  for (const auto& [digest, referrer] : referrers) {
    if (referrer.subject != out.artifact) continue;
    if (auto taken = takeReferrer(store, referrer, bundles, out); !taken)
      return fail(taken.error().in("manifest " + digest.text()));
    out.referrers.push_back({digest, referrer.artifactType});
  }
  return out;
}

Status addBundle(const std::string& directory, const OciExport& current, std::string_view bundle) {
  BundleCount count;
  for (const Digest& there : current.bundles) KILN_TRY(count.add(there.size));
  if (const Status fits = count.add(bundle.size()); !fits)
    return fail(Code::kResourceExhausted, directory + ": has no room for another: " + fits.error().message);
  KILN_ASSIGN(const std::string manifest, makeBundleReferrer(current.artifact, digestOf(bundle)));
  std::vector<LayoutEntry> all = current.referrers;
  all.push_back({digestOf(manifest), kBundleType});
  KILN_ASSIGN(const std::string tag, makeReferrersIndex(all));
  KILN_ASSIGN(const std::string index, makeLayoutIndex(current.artifact, all, digestOf(tag)));
  const std::string blobs = directory + "/blobs/sha256";
  for (std::string_view text :
       {bundle, std::string_view(kEmptyConfig), std::string_view(manifest), std::string_view(tag)})
    KILN_TRY(place(blobs + "/" + digestOf(text).hex(), text, false));
  KILN_TRY(syncDirectory(blobs));
  KILN_TRY(place(directory + "/index.json", index, true));
  return syncDirectory(directory);
}

}  // namespace kiln::storage
