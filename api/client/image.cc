#include "api/client/image.h"

#include <array>
#include <filesystem>

#include "api/client/artifact_paths.h"
#include "api/node/staging.h"
#include "manifest/artifact/oci_image.h"
#include "manifest/artifact/oci_layout.h"
#include "storage/oci/image_layer.h"

namespace kiln::client {
namespace {

namespace fs = std::filesystem;

Result<storage::ImageLayer> layerOf(const std::string& directory, const Paths& paths) {
  std::vector<storage::LayerFile> files;
  for (const std::string& path : paths) {
    const std::string source = directory + "/" + path;
    std::error_code error;
    const std::uint64_t size = fs::file_size(source, error);
    if (error) return fail(errnoError(error.value(), source));
    files.push_back({path, {{}, size}});
  }
  return storage::ImageLayer(std::move(files));
}

// For layers that are read as a whole.
storage::ImageLayer::Reader readerOf(const std::string& directory) {
  return [&directory](const storage::LayerFile& file, std::uint64_t, std::uint64_t,
                      const storage::ByteSink& sink) {
    return node::streamFile(directory + "/" + file.path, sink);
  };
}

using Layers = std::array<storage::ImageLayer, 2>;

Result<Layers> layersOf(const node::VerifiedArtifact& artifact) {
  KILN_ASSIGN(const ArtifactPaths contents, pathsOf(artifact));
  KILN_ASSIGN(storage::ImageLayer own, layerOf(artifact.directory, contents.own));
  KILN_ASSIGN(storage::ImageLayer evidence, layerOf(artifact.directory, contents.evidence));
  return Layers{std::move(own), std::move(evidence)};
}

Result<ImageDocuments> documentsOf(const node::VerifiedArtifact& artifact, std::vector<Digest> layers) {
  return makeImage({artifact.verdict.artifact, artifact.manifest().spec.target, std::move(layers), {}});
}

}  // namespace

Result<ImageSummary> exportImage(const node::VerifiedArtifact& artifact, const std::string& destination) {
  KILN_ASSIGN(auto staging, node::Staging::begin(destination));
  KILN_ASSIGN(const Layers layers, layersOf(artifact));
  const auto reader = readerOf(artifact.directory);
  ImageSummary summary;
  std::vector<Digest> digests;
  for (const storage::ImageLayer& layer : layers) {
    // The first pass says under which name the second one writes it.
    KILN_ASSIGN(const Digest digest, layer.digest(reader));
    KILN_TRY(staging.receive(
        "blobs/sha256/" + digest.hex(), digest, nullptr,
        [&](const storage::ByteSink& take) { return layer.read(0, layer.size(), reader, take); }));
    digests.push_back(digest);
    summary.bytes += digest.size;
  }
  const auto put = [&](std::string_view text) {
    summary.bytes += text.size();
    return staging.write("blobs/sha256/" + digestOf(text).hex(), asBytes(text));
  };
  KILN_ASSIGN(const ImageDocuments documents, documentsOf(artifact, std::move(digests)));
  KILN_TRY(put(documents.config));
  KILN_TRY(put(documents.manifest));
  summary.image = digestOf(documents.manifest);
  KILN_ASSIGN(const std::string index, makeImageIndex(summary.image));
  KILN_TRY(staging.write("index.json", asBytes(index)));
  KILN_TRY(staging.write("oci-layout", asBytes(kOciLayoutText)));
  KILN_TRY(staging.commit());
  return summary;
}

Result<Digest> imageOf(const node::VerifiedArtifact& artifact) {
  KILN_ASSIGN(const Layers layers, layersOf(artifact));
  std::vector<Digest> digests;
  for (const storage::ImageLayer& layer : layers) {
    KILN_ASSIGN(const Digest digest, layer.digest(readerOf(artifact.directory)));
    digests.push_back(digest);
  }
  KILN_ASSIGN(const ImageDocuments documents, documentsOf(artifact, std::move(digests)));
  return digestOf(documents.manifest);
}

}  // namespace kiln::client
