// Serves one file as a published blob until its standard input ends; prints its URLs, plain and within TLS.
// For tests/bench/gateway.sh.
#include <cstdio>
#include <memory>

#include "api/gateway/gateway.h"
#include "signing/keys/files.h"
#include "storage/blob/local_blob_store.h"

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
  KILN_ASSIGN(const auto plain, gateway::Gateway::start({}, backend));
  KILN_ASSIGN(const std::string pem, signing::readTextFile(identity, 64 << 10));
  KILN_ASSIGN(auto tls, gateway::ServerTls::create({pem, pem, {pem}, false}));
  backend.gate = std::make_shared<Everybody>();
  KILN_ASSIGN(const auto secure, gateway::Gateway::start({.tls = std::move(tls)}, backend));
  const std::string path = "/v2/default/artifacts/blobs/" + blob.text();
  std::printf("http://127.0.0.1:%u%s https://127.0.0.1:%u%s\n", plain->port(), path.c_str(), secure->port(),
              path.c_str());
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
