#include "api/client/image.h"

#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "api/client/artifact_paths.h"
#include "api/client/published_image.h"
#include "api/node/staging.h"
#include "manifest/artifact/oci_image.h"
#include "manifest/artifact/oci_layout.h"
#include "manifest/base/printable.h"
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

// A folder that is read whole shows nothing that the image has not.
Status checkNothingElse(const std::string& directory, const ArtifactPaths& contents) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string path = it->path().lexically_relative(directory).generic_string();
    const bool folder = it->is_directory(error) && !it->is_symlink(error);
    if (error || folder || contents.own.contains(path) || contents.evidence.contains(path)) continue;
    return fail(Code::kDataLoss,
                printable(path) + " lies in the directory and is in no image of the artifact");
  }
  return error ? Status(fail(errnoError(error.value(), directory))) : Status();
}

using Layers = std::array<storage::ImageLayer, 2>;

std::string nameOf(const Digest& digest) {
  return "blobs/sha256/" + digest.hex();
}

std::string pathOf(const Digest& bundle) {
  return "bundles/" + bundle.hex() + ".sigstore.json";
}

// Of what lies there, or of that what a published image has.
Result<Layers> layersOf(const node::VerifiedArtifact& artifact, ArtifactPaths contents,
                        const std::optional<PublishedImage>& published = {}) {
  if (published) {
    const Paths there = std::exchange(contents.evidence, {});
    for (const Digest& bundle : published->said.image.bundles) {
      if (!there.contains(pathOf(bundle)))
        return fail(Code::kNotFound, pathOf(bundle) + ", which is in the published image, is not here");
      contents.evidence.insert(pathOf(bundle));
    }
  }
  KILN_ASSIGN(storage::ImageLayer own, layerOf(artifact.directory, contents.own));
  KILN_ASSIGN(storage::ImageLayer evidence, layerOf(artifact.directory, contents.evidence));
  return Layers{std::move(own), std::move(evidence)};
}

Result<ImageDocuments> documentsOf(const node::VerifiedArtifact& artifact, std::vector<Digest> layers) {
  return makeImage({artifact.verdict.artifact, artifact.manifest().spec.target, std::move(layers), {}});
}

}  // namespace

Result<ImageSummary> exportImage(const node::VerifiedArtifact& artifact, const std::string& destination,
                                 ImageContents contents) {
  KILN_ASSIGN(auto staging, node::Staging::begin(destination));
  std::optional<PublishedImage> published;
  if (contents == ImageContents::kAsPublished) {
    KILN_ASSIGN(published, publishedImageOf(artifact));
  }
  KILN_ASSIGN(ArtifactPaths paths, pathsOf(artifact));
  KILN_ASSIGN(const Layers layers, layersOf(artifact, std::move(paths), published));
  const auto reader = readerOf(artifact.directory);
  ImageSummary summary;
  std::vector<Digest> digests;
  for (const storage::ImageLayer& layer : layers) {
    // The first pass says under which name the second one writes it.
    KILN_ASSIGN(const Digest digest, layer.digest(reader));
    KILN_TRY(staging.receive(nameOf(digest), digest, nullptr, [&](const storage::ByteSink& take) {
      return layer.read(0, layer.size(), reader, take);
    }));
    digests.push_back(digest);
    summary.bytes += digest.size;
  }
  const auto put = [&](std::string_view text) {
    summary.bytes += text.size();
    return staging.write(nameOf(digestOf(text)), asBytes(text));
  };
  KILN_ASSIGN(const ImageDocuments documents, documentsOf(artifact, std::move(digests)));
  KILN_TRY(put(documents.config));
  KILN_TRY(put(documents.manifest));
  summary.image = digestOf(documents.manifest);
  std::vector<LayoutEntry> referrers;
  if (published) {
    if (summary.image != published->said.digest)
      return fail(Code::kDataLoss, "the files here make image " + summary.image.text() + " and not " +
                                       published->said.digest.text() + ", as its statement says");
    KILN_TRY(staging.copy(nameOf(published->bundle), published->bundle,
                          artifact.directory + "/" + pathOf(published->bundle)));
    KILN_ASSIGN(const std::string referrer, makeBundleReferrer(summary.image, published->bundle));
    KILN_TRY(put(referrer));
    KILN_TRY(put(kEmptyConfig));
    referrers.push_back({digestOf(referrer), kBundleType});
  }
  KILN_ASSIGN(const std::string index, makeImageIndex(summary.image, referrers));
  KILN_TRY(staging.write("index.json", asBytes(index)));
  KILN_TRY(staging.write("oci-layout", asBytes(kOciLayoutText)));
  KILN_TRY(staging.commit());
  return summary;
}

Result<Digest> imageOf(const node::VerifiedArtifact& artifact) {
  KILN_ASSIGN(ArtifactPaths contents, pathsOf(artifact));
  KILN_TRY(checkNothingElse(artifact.directory, contents));
  KILN_ASSIGN(const Layers layers, layersOf(artifact, std::move(contents)));
  std::vector<Digest> digests;
  for (const storage::ImageLayer& layer : layers) {
    KILN_ASSIGN(const Digest digest, layer.digest(readerOf(artifact.directory)));
    digests.push_back(digest);
  }
  KILN_ASSIGN(const ImageDocuments documents, documentsOf(artifact, std::move(digests)));
  return digestOf(documents.manifest);
}

}  // namespace kiln::client
