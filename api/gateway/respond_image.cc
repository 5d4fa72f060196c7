// The container images of artifacts: documents are made from what the lookup says, layers from the artifact's
// files and bundles while they are sent.
#include <algorithm>

#include "api/gateway/answer.h"
#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci.h"
#include "manifest/artifact/oci_layout.h"
#include "storage/oci/image_layer.h"

namespace kiln::gateway {
namespace {

bool isSame(const Digest& digest, const Digest& hash) {
  return digest.hash == hash.hash;
}

// kDataLoss if what is known of the image makes another one.
Result<ImageDocuments> documentsOf(const PublishedImage& image) {
  KILN_ASSIGN(ImageDocuments documents, makeImage(image.image));
  if (isSame(digestOf(documents.manifest), image.digest)) return documents;
  return fail(Code::kDataLoss,
              "what is known of an image of " + image.image.artifact.text() + " makes another one");
}

Error notFound() {
  return {Code::kNotFound, "no image of a published artifact is here under this reference", {}};
}

}  // namespace

void Responder::imageDocument(Answer& answer, const Route& route, const PublishedImage& image) {
  const auto documents = documentsOf(image);
  if (!documents) return refuse(answer, documents.error(), route.kind);
  document(answer, digestOf(documents->manifest), kOciManifestMediaType, documents->manifest);
}

void Responder::imageOf(Answer& answer, const Route& route) {
  if (!backend_.images) return refuse(answer, notFound(), route.kind);
  const auto images = backend_.images->findImagesOf(route.instance, route.hash);
  if (!images) return refuse(answer, images.error(), route.kind);
  if (images->empty()) return refuse(answer, notFound(), route.kind);
  if (const auto may = checkRelease(route.instance, images->front().image.artifact); !may)
    return refuse(answer, may.error(), route.kind);
  imageDocument(answer, route, images->front());
}

bool Responder::imageManifest(Answer& answer, const Route& route) {
  if (!backend_.images) return false;
  const auto image = backend_.images->findImage(route.instance, route.hash);
  if (!image) return refuse(answer, image.error(), route.kind), true;
  if (!*image) return false;
  if (const auto may = checkRelease(route.instance, (*image)->image.artifact); !may)
    return refuse(answer, may.error(), route.kind), true;
  if (isSame((*image)->digest, route.hash)) return imageDocument(answer, route, **image), true;
  const auto documents = documentsOf(**image);
  if (!documents) return refuse(answer, documents.error(), route.kind), true;
  const auto referrer = makeBundleReferrer(digestOf(documents->manifest), (*image)->bundle);
  if (!referrer) return refuse(answer, referrer.error(), route.kind), true;
  // A layer or config is no manifest.
  if (!isSame(digestOf(*referrer), route.hash)) return false;
  document(answer, digestOf(*referrer), kOciManifestMediaType, *referrer);
  return true;
}

bool Responder::imageBlob(Answer& answer, const Route& route) {
  if (!backend_.images) return false;
  const auto image = backend_.images->findImage(route.instance, route.hash);
  if (!image) return refuse(answer, image.error(), route.kind), true;
  if (!*image) return false;
  const auto documents = documentsOf(**image);
  if (!documents) return refuse(answer, documents.error(), route.kind), true;
  const std::vector<Digest>& layers = (*image)->image.layers;
  const auto layer = std::ranges::find_if(layers, [&](const Digest& one) { return isSame(one, route.hash); });
  const bool isConfig = isSame(digestOf(documents->config), route.hash);
  if (!isConfig && layer == layers.end()) return false;  // the manifest, which is no blob
  if (const auto may = checkRelease(route.instance, (*image)->image.artifact); !may)
    return refuse(answer, may.error(), route.kind), true;
  if (isConfig)
    document(answer, digestOf(documents->config), kOciImageConfigMediaType, documents->config);
  else
    imageLayer(answer, route, **image, static_cast<std::size_t>(layer - layers.begin()));
  return true;
}

void Responder::imageLayer(Answer& answer, const Route& route, const PublishedImage& image,
                           std::size_t number) {
  const Digest& digest = image.image.layers[number];
  const auto layer = [&]() -> Result<storage::ImageLayer> {
    if (number == 1) return storage::ImageLayer::ofBundles(image.image.bundles);
    KILN_ASSIGN(const std::string text, storage::getBlob(*backend_.blobs, route.instance,
                                                         image.image.artifact, kMaxOciManifestBytes));
    KILN_ASSIGN(const OciManifest artifact, parseOciManifest(text));
    return storage::ImageLayer::ofArtifact(artifact);
  }();
  if (!layer) return refuse(answer, layer.error(), route.kind);
  if (layer->size() != digest.size)
    return refuse(answer, {Code::kDataLoss, "the files of an image make another layer than its own", {}},
                  route.kind);
  std::vector<Digest> files;
  for (const storage::LayerFile& file : layer->files()) files.push_back(file.digest);
  const auto missing = backend_.blobs->findMissing(route.instance, files);
  if (!missing) return refuse(answer, missing.error(), route.kind);
  if (!missing->empty())
    return refuse(answer, {Code::kNotFound, "the store does not hold all files of this layer", {}},
                  route.kind);
  const auto reader = storage::readerOf(*backend_.blobs, route.instance);
  send(answer, digest, route.kind,
       [&](std::uint64_t offset, std::uint64_t length, const storage::ByteSink& sink) {
         return layer->read(offset, length, reader, sink);
       });
}

// The statement that names it is all that refers to an image itself.
bool Responder::imageReferrers(Answer& answer, const Route& route) {
  if (!backend_.images) return false;
  const auto image = backend_.images->findImage(route.instance, route.hash);
  if (!image) return refuse(answer, image.error(), route.kind), true;
  if (!*image || !isSame((*image)->digest, route.hash)) return false;
  if (const auto may = checkRelease(route.instance, (*image)->image.artifact); !may)
    return refuse(answer, may.error(), route.kind), true;
  const auto documents = documentsOf(**image);
  if (!documents) return refuse(answer, documents.error(), route.kind), true;
  std::vector<LayoutEntry> entries;
  if (route.artifactType.empty() || route.artifactType == kBundleType) {
    const auto referrer = makeBundleReferrer(digestOf(documents->manifest), (*image)->bundle);
    if (!referrer) return refuse(answer, referrer.error(), route.kind), true;
    entries.push_back({digestOf(*referrer), kBundleType});
  }
  referrersIndex(answer, route, entries);
  return true;
}

Status Responder::addImages(std::vector<LayoutEntry>& entries, const std::string& instance,
                            const Digest& artifact) {
  if (!backend_.images) return {};
  KILN_ASSIGN(const auto images, backend_.images->findImagesOf(instance, artifact));
  for (const PublishedImage& image : images) {
    KILN_ASSIGN(const ImageDocuments documents, documentsOf(image));
    // What has no type of its own goes by its config's (image-spec, "Guidelines for Artifact Usage").
    entries.push_back({digestOf(documents.manifest), kOciImageConfigMediaType});
  }
  return {};
}

}  // namespace kiln::gateway
