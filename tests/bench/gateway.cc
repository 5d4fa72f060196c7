// Serves one file as a published blob, and as the weights of an artifact with a container image, until its
// standard input ends; prints the blob's URLs, plain and within TLS, and that of the image's layer with it,
// plain. For tests/bench/gateway.sh.
#include <cstdio>
#include <memory>

#include "api/gateway/gateway.h"
#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci.h"
#include "manifest/json/json.h"
#include "signing/keys/files.h"
#include "storage/blob/local_blob_store.h"
#include "storage/oci/image_layer.h"

namespace {

using namespace kiln;

class OneBlob final : public gateway::ArtifactLookup {
 public:
  explicit OneBlob(const Digest& blob) : blob_(blob) {}
  Result<Digest> findManifest(const std::string&, const Digest&) override { return none(); }
  Result<Digest> findBlob(const std::string&, const Digest& hash) override {
    if (hash.hash == blob_.hash) return blob_;
    return none();
  }
  Result<std::vector<Digest>> findArtifactsOf(const std::string&, const Digest&) override { return none(); }
  Result<gateway::PublishedArtifact> findReferrers(const std::string&, const Digest&) override {
    return none();
  }
  Result<gateway::PublishedArtifact> findReferrer(const std::string&, const Digest&) override {
    return none();
  }

 private:
  static tl::unexpected<Error> none() { return fail(Code::kNotFound, "not served here"); }
  const Digest blob_;
};

// An image of the artifact that has the blob as its weights.
class OneImage final : public gateway::ImageLookup {
 public:
  explicit OneImage(gateway::PublishedImage image) : image_(std::move(image)) {}
  Result<std::optional<gateway::PublishedImage>> findImage(const std::string&, const Digest& hash) override {
    const bool known = hash.hash == image_.image.layers.at(0).hash;
    return known ? std::optional(image_) : std::nullopt;
  }
  Result<std::vector<gateway::PublishedImage>> findImagesOf(const std::string&, const Digest&) override {
    return std::vector{image_};
  }

 private:
  const gateway::PublishedImage image_;
};

Result<gateway::PublishedImage> imageOf(storage::BlobStore& store, const Digest& weights) {
  KILN_ASSIGN(const Digest config, storage::putBlob(store, "default", asBytes(R"({"kind":"Manifest"})")));
  KILN_ASSIGN(const Digest program, storage::putBlob(store, "default", asBytes("program")));
  KILN_ASSIGN(const Digest bundle, storage::putBlob(store, "default", asBytes("a bundle")));
  const auto part = [](const char* type, const Digest& digest) {
    return Json{{"mediaType", type}, {"digest", digest.text()}, {"size", digest.size}};
  };
  Json first = part(kProgramMediaType, program), second = part(kWeightsMediaType, weights);
  first["annotations"] = {{"org.opencontainers.image.title", "program.so"}};
  second["annotations"] = {{"org.opencontainers.image.title", "weights/0000.bin"}};
  KILN_ASSIGN(const std::string text, toCanonicalJson({{"schemaVersion", 2},
                                                       {"mediaType", kOciManifestMediaType},
                                                       {"artifactType", kArtifactType},
                                                       {"config", part(kManifestMediaType, config)},
                                                       {"layers", {std::move(first), std::move(second)}}}));
  KILN_ASSIGN(const Digest artifact, storage::putBlob(store, "default", asBytes(text)));
  KILN_ASSIGN(const OciManifest oci, parseOciManifest(text));
  gateway::PublishedImage out{{artifact, "cpu:x86-64-v3", {}, {bundle}}, {}, bundle};
  for (const storage::ImageLayer& layer :
       {storage::ImageLayer::ofArtifact(oci), storage::ImageLayer::ofBundles(out.image.bundles)}) {
    KILN_ASSIGN(const Digest digest, layer.digest(storage::readerOf(store, "default")));
    out.image.layers.push_back(digest);
  }
  KILN_ASSIGN(const ImageDocuments documents, makeImage(out.image));
  out.digest = digestOf(documents.manifest);
  return out;
}

class Everybody final : public gateway::RequestGate {
 public:
  Status admit(const gateway::Caller&, gateway::RouteKind, const std::string&) override { return {}; }
};

Status serve(const std::string& file, const std::string& directory, const std::string& identity) {
  KILN_ASSIGN(std::shared_ptr<storage::BlobStore> store,
              storage::LocalBlobStore::open({.directory = directory}));
  KILN_ASSIGN(const Digest blob, storage::putFile(*store, "default", file));
  gateway::GatewayBackend backend{.artifacts = std::make_shared<OneBlob>(blob),
                                  .blobs = store,
                                  .metrics = std::make_shared<prometheus::Registry>(),
                                  .health = [] { return Status(); }};
  KILN_ASSIGN(gateway::PublishedImage image, imageOf(*store, blob));
  const Digest layer = image.image.layers.at(0);
  backend.images = std::make_shared<OneImage>(std::move(image));
  KILN_ASSIGN(const auto plain, gateway::Gateway::start({}, backend));
  KILN_ASSIGN(const std::string pem, signing::readTextFile(identity, 64 << 10));
  KILN_ASSIGN(auto tls, gateway::ServerTls::create({pem, pem, {pem}, false}));
  backend.gate = std::make_shared<Everybody>();
  KILN_ASSIGN(const auto secure, gateway::Gateway::start({.tls = std::move(tls)}, backend));
  const std::string blobs = "/v2/default/artifacts/blobs/", path = blobs + blob.text(),
                    ofLayer = blobs + layer.text();
  std::printf("http://127.0.0.1:%u%s https://127.0.0.1:%u%s http://127.0.0.1:%u%s\n", plain->port(),
              path.c_str(), secure->port(), path.c_str(), plain->port(), ofLayer.c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_gateway FILE STORE CERTIFICATE-AND-KEY.pem\n");
    return 2;
  }
  const Status served = serve(argv[1], argv[2], argv[3]);
  if (!served) std::fprintf(stderr, "%s\n", served.error().message.c_str());
  return served ? 0 : 1;
}
