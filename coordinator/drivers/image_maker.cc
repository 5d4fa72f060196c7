#include "coordinator/drivers/image_maker.h"

#include <array>

#include "coordinator/signatures/statement_reader.h"
#include "manifest/artifact/oci_layout.h"
#include "manifest/statement/image_statement.h"
#include "storage/oci/image_layer.h"

namespace kiln::service {

Result<std::optional<SignedImage>> signImage(const Judging& judging, const ImageRequest& request) {
  const index::ArtifactRecord& artifact = request.artifact;
  const std::string& instance = artifact.instance;
  {
    KILN_ASSIGN(auto connection, judging.stores.database.acquire());
    KILN_ASSIGN(const bool has, index::hasImage(*connection, instance, artifact.digest));
    if (has) return std::optional<SignedImage>();
  }
  KILN_ASSIGN(const OciManifest oci, parseOciManifest(request.ociManifest));
  const storage::ImageLayer layers[] = {storage::ImageLayer::ofArtifact(oci),
                                        storage::ImageLayer::ofBundles(request.bundles)};
  ArtifactImage image{artifact.digest, artifact.target, {}, request.bundles};
  for (const storage::ImageLayer& layer : layers) {
    KILN_ASSIGN(const Digest digest, layer.digest(storage::readerOf(judging.stores.blobs, instance)));
    image.layers.push_back(digest);
  }
  const auto documents = makeImage(image);
  if (!documents && documents.error().code == Code::kUnimplemented) return std::optional<SignedImage>();
  if (!documents) return fail(documents.error());
  KILN_ASSIGN(const std::string statement, imageStatement(image));
  auto bundle = judging.signatory.signer.sign({.instance = instance,
                                               .statement = statement,
                                               .subjectSize = artifact.digest.size,
                                               .receipts = {},
                                               .trace = request.trace});
  if (!bundle) return fail(bundle.error().in("signer"));
  SignedImage out;
  out.bundle = {digestOf(statement), {}, kImageType, request.job, request.recorded};
  KILN_TRY(keepBundle(judging.stores.blobs, instance, *bundle, out.bundle));
  const Digest digest = digestOf(documents->manifest);
  KILN_ASSIGN(const std::string referrer, makeBundleReferrer(digest, out.bundle.bundle));
  out.image = {.image = std::move(image),
               .digest = {digest.hash, 0},
               .config = {digestOf(documents->config).hash, 0},
               .statement = {out.bundle.payload.hash, 0},
               .bundle = out.bundle.bundle,
               .referrer = {digestOf(referrer).hash, 0}};
  return std::optional(std::move(out));
}

}  // namespace kiln::service
