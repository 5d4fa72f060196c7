#include "api/client/image.h"

#include <filesystem>

#include "api/client/artifact_paths.h"
#include "api/node/staging.h"
#include "manifest/artifact/oci_image.h"
#include "manifest/artifact/oci_layout.h"
#include "storage/oci/tar_writer.h"

namespace kiln::client {
namespace {

namespace fs = std::filesystem;

// Each folder comes before what is in it.
Status writeLayer(const std::string& directory, const Paths& paths, const storage::ByteSink& sink) {
  storage::TarWriter tar(sink);
  Paths folders;
  for (const std::string& path : paths) {
    const std::string name = std::string(kImageFolder) + "/" + path;
    for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1))
      if (folders.insert(name.substr(0, slash)).second) KILN_TRY(tar.folder(name.substr(0, slash)));
    const std::string source = directory + "/" + path;
    std::error_code error;
    const std::uint64_t size = fs::file_size(source, error);
    if (error) return fail(errnoError(error.value(), source));
    KILN_TRY(
        tar.file(name, size, [&](const storage::ByteSink& take) { return node::streamFile(source, take); }));
  }
  return tar.finish();
}

// The first pass says under which name the second one writes it.
Result<Digest> addLayer(const std::string& directory, const Paths& paths, node::Staging& staging) {
  Hasher hasher;
  KILN_TRY(writeLayer(directory, paths, [&](Bytes bytes) {
    hasher.update(bytes);
    return Status{};
  }));
  const Digest digest = hasher.finish();
  KILN_TRY(
      staging.receive("blobs/sha256/" + digest.hex(), digest, nullptr,
                      [&](const storage::ByteSink& take) { return writeLayer(directory, paths, take); }));
  return digest;
}

}  // namespace

Result<ImageSummary> exportImage(const node::VerifiedArtifact& artifact, const std::string& destination) {
  KILN_ASSIGN(auto staging, node::Staging::begin(destination));
  KILN_ASSIGN(const Target host, parseTarget(artifact.manifest().spec.target));
  KILN_ASSIGN(const ArtifactPaths contents, pathsOf(artifact));
  ImageSummary summary;
  std::vector<Digest> layers;
  for (const Paths* const paths : {&contents.own, &contents.evidence}) {
    KILN_ASSIGN(const Digest layer, addLayer(artifact.directory, *paths, staging));
    layers.push_back(layer);
    summary.bytes += layer.size;
  }
  const auto put = [&](std::string_view text) {
    summary.bytes += text.size();
    return staging.write("blobs/sha256/" + digestOf(text).hex(), asBytes(text));
  };
  KILN_ASSIGN(const std::string config, makeImageConfig(host, layers));
  KILN_TRY(put(config));
  KILN_ASSIGN(const std::string manifest,
              makeImageManifest(digestOf(config), layers, artifact.verdict.artifact));
  KILN_TRY(put(manifest));
  summary.image = digestOf(manifest);
  KILN_ASSIGN(const std::string index, makeImageIndex(summary.image));
  KILN_TRY(staging.write("index.json", asBytes(index)));
  KILN_TRY(staging.write("oci-layout", asBytes(kOciLayoutText)));
  KILN_TRY(staging.commit());
  return summary;
}

}  // namespace kiln::client
