// bench_s3_store FILE: puts a file into a fresh store in S3 and gets it back, on each server at hand. See
// s3.py.
#include <fmt/core.h>

#include <chrono>

#include "manifest/base/file.h"
#include "storage/s3/s3_blob_store.h"
#include "tests/support/memory_blob_references.h"
#include "tests/support/s3_server.h"

namespace {

using namespace kiln;

double seconds(const std::function<Status()>& what) {
  const auto begun = std::chrono::steady_clock::now();
  if (const Status done = what(); !done) {
    fmt::print(stderr, "bench_s3_store: {}\n", done.error().message);
    std::exit(1);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string path = arguments[1];
  const Digest digest = digestOfFile(path).value();
  for (const std::string& name : testing_support::s3ServersAtHand()) {
    for (int round = 0; round < 3; ++round) {
      testing_support::MemoryBlobReferences references;
      s3::S3BlobStoreOptions options;
      options.client = testing_support::s3Server(name).options(fmt::format("r{}", round));
      const auto store = s3::S3BlobStore::open(options, references).value();
      const double put = seconds([&] { return storage::putFile(*store, "a", digest, path); });
      const double get =
          seconds([&] { return store->read("a", digest, 0, 0, [](Bytes) -> Status { return {}; }); });
      fmt::print("{} put {:.3f}\n{} get {:.3f}\n", name, put, name, get);
    }
  }
}
