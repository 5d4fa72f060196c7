#include "signing/server/image_check.h"

#include "manifest/artifact/bundle_limit.h"
#include "manifest/statement/image_statement.h"
#include "signing/server/closure.h"
#include "storage/oci/image_layer.h"

namespace kiln::signing {
namespace {

// Hashes each file on its way into the layer: the store is not believed.
storage::ImageLayer::Reader checkedReader(storage::BlobStore& store, const std::string& instance) {
  return [&store, &instance](const storage::LayerFile& file, std::uint64_t, std::uint64_t,
                             const storage::ByteSink& sink) -> Status {
    Hasher hasher;
    KILN_TRY(store.read(instance, file.digest, 0, 0, [&](Bytes bytes) {
      hasher.update(bytes);
      return sink(bytes);
    }));
    if (hasher.finish() == file.digest) return {};
    return fail(Code::kDataLoss, file.path + ": the store's bytes are not those of " + file.digest.text());
  };
}

Status checkLayer(const storage::ImageLayer& layer, const Digest& stated,
                  const storage::ImageLayer::Reader& reader) {
  const auto digest = layer.digest(reader);
  if (!digest) {
    Error error = digest.error().in("image");
    if (error.code == Code::kNotFound || error.code == Code::kDataLoss)
      error.code = Code::kFailedPrecondition;
    return fail(std::move(error));
  }
  if (*digest == stated) return {};
  return fail(Code::kFailedPrecondition,
              "image: a layer is " + digest->text() + ", and not " + stated.text() + " as it states");
}

}  // namespace

Status checkImage(storage::BlobStore& store, const std::string& instance, const Statement& statement,
                  const Digest& artifact) {
  KILN_ASSIGN(const Closure known, loadManifests(store, instance, artifact));
  auto said = readImageStatement(statement, artifact, known.manifest.spec.target);
  if (!said) {
    Error error = said.error();
    if (error.code == Code::kDataLoss) error.code = Code::kFailedPrecondition;
    return fail(std::move(error));
  }
  for (const Digest& bundle : said->image.bundles)
    if (bundle.size > kMaxBundleBytes) return fail(Code::kInvalidArgument, "image: a bundle is too large");
  const auto reader = checkedReader(store, instance);
  KILN_TRY(checkLayer(storage::ImageLayer::ofArtifact(known.oci), said->image.layers[0], reader));
  return checkLayer(storage::ImageLayer::ofBundles(said->image.bundles), said->image.layers[1], reader);
}

}  // namespace kiln::signing
