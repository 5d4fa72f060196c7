// A fresh S3 blob store on one of the servers at hand: a prefix and references of its own.
#pragma once

#include "storage/s3/s3_blob_store.h"
#include "tests/contract/blob_store_contract.h"
#include "tests/support/memory_blob_references.h"
#include "tests/support/s3_server.h"
#include "tests/support/temp_directory.h"

namespace kiln::s3::testing {

class S3Harness final : public storage::BlobStoreHarness {
 public:
  // `proxyPort`: what the store goes through; 0: nothing.
  explicit S3Harness(const std::string& server, int proxyPort = 0)
      : server_(testing_support::s3Server(server)), prefix_("t" + std::to_string(next_++)) {
    options_.client = server_.options(prefix_, proxyPort);
    options_.scratch = scratch_.path();
    // Small parts; 5 MiB is the least that servers take.
    options_.partsFrom = options_.partBytes = 5 << 20;
    reopen();
  }

  S3BlobStore& store() override { return *store_; }
  S3BlobStoreOptions& options() { return options_; }
  void reopen() { store_ = S3BlobStore::open(options_, references_).value(); }
  testing_support::MemoryBlobReferences& references() { return references_; }
  // Past the store and any proxy.
  Client direct() const { return Client(server_.options(prefix_)); }
  std::string key(const Digest& digest) {
    return S3BlobStore::keyOf({digest, references_.standing(digest)->generation});
  }
  bool hasObject(const std::string& key) const { return direct().head(key).has_value(); }

  void corrupt(const Digest& digest) override {
    std::string bytes;
    Client client = direct();
    Status got = client.get(key(digest), digest.size, 0, digest.size, [&](Bytes some) -> Status {
      bytes.append(reinterpret_cast<const char*>(some.data()), some.size());
      return {};
    });
    ASSERT_TRUE(got) << got.error().message;
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
    Status put = client.put(key(digest), Body::of(asBytes(bytes)), digestOf(bytes), Existing::kReplace);
    ASSERT_TRUE(put) << put.error().message;
  }

 private:
  static inline int next_ = 0;
  testing_support::S3Server& server_;
  const std::string prefix_;
  testing_support::TempDirectory scratch_;
  testing_support::MemoryBlobReferences references_;
  S3BlobStoreOptions options_;
  std::unique_ptr<S3BlobStore> store_;
};

}  // namespace kiln::s3::testing
