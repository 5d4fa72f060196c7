// What every BlobStore promises, as one suite (blob_store_contract.cc, to be compiled into each backend's
// test program). A backend's test makes a harness and instantiates the suite:
//   INSTANTIATE_TEST_SUITE_P(Local, BlobStoreContract, testing::Values(makeLocalHarness));
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "storage/blob/blob_store.h"

namespace kiln::storage {

// One fresh, empty store.
class BlobStoreHarness {
 public:
  virtual ~BlobStoreHarness() = default;
  virtual BlobStore& store() = 0;
  // Changes one byte of the stored blob behind the store's back.
  virtual void corrupt(const Digest& digest) = 0;
};
using BlobStoreHarnessFactory = std::function<std::unique_ptr<BlobStoreHarness>()>;

class BlobStoreContract : public testing::TestWithParam<BlobStoreHarnessFactory> {
 protected:
  BlobStore& store() { return harness_->store(); }
  std::string get(const std::string& instance, const Digest& digest) {
    auto got = getBlob(store(), instance, digest, 1ull << 32);
    return got ? *got : "ERROR " + std::string(codeName(got.error().code)) + " " + got.error().message;
  }
  static std::string pattern(std::size_t size, unsigned seed = 1) {
    std::string text(size, '\0');
    std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (char& c : text)
      c = static_cast<char>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
    return text;
  }
  Code readCode(const Digest& digest, std::uint64_t offset = 0) {
    auto status = store().read("a", digest, offset, 0, [](Bytes) -> Status { return {}; });
    return status ? Code{} : status.error().code;
  }

  std::unique_ptr<BlobStoreHarness> harness_ = GetParam()();
};

}  // namespace kiln::storage
