// Serves one file as a published blob until its standard input ends; prints its URL. For
// tests/bench/gateway.sh.
#include <cstdio>
#include <memory>

#include "api/gateway/gateway.h"
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

Status serve(const std::string& file, const std::string& directory) {
  KILN_ASSIGN(std::shared_ptr<storage::BlobStore> store,
              storage::LocalBlobStore::open({.directory = directory}));
  KILN_ASSIGN(const Digest blob, storage::putFile(*store, "default", file));
  KILN_ASSIGN(const auto server,
              gateway::Gateway::start({}, {.artifacts = std::make_shared<OneBlob>(blob),
                                           .blobs = store,
                                           .metrics = std::make_shared<prometheus::Registry>(),
                                           .health = [] { return Status(); }}));
  std::printf("http://127.0.0.1:%u/v2/default/artifacts/blobs/%s\n", server->port(), blob.text().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_gateway FILE STORE\n");
    return 2;
  }
  const Status served = serve(argv[1], argv[2]);
  if (!served) std::fprintf(stderr, "%s\n", served.error().message.c_str());
  return served ? 0 : 1;
}
