// A LocalBlobStore in a temporary directory, for the contract suite and for tests that need some store.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "storage/blob/local_blob_store.h"
#include "tests/contract/blob_store_contract.h"
#include "tests/support/temp_directory.h"

namespace kiln::storage {

inline std::string blobFile(const std::string& root, const Digest& digest) {
  return root + "/blobs/" + digest.hex().substr(0, 2) + "/" + digest.hex();
}

// Flips one bit in the middle of the blob's file.
inline void flipBit(const std::string& root, const Digest& digest) {
  std::string path = blobFile(root, digest);
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0) << path;
  int fd = ::open(path.c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  unsigned char byte = 0;
  off_t at = static_cast<off_t>(digest.size / 2);
  ASSERT_EQ(::pread(fd, &byte, 1, at), 1);
  byte ^= 4;
  ASSERT_EQ(::pwrite(fd, &byte, 1, at), 1);
  ::close(fd);
}

inline std::size_t filesBelow(const std::string& directory) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    count += entry.is_regular_file();
  return count;
}

class LocalStoreHarness : public BlobStoreHarness {
 public:
  LocalStoreHarness() : LocalStoreHarness(LocalBlobStoreOptions{}) {}
  explicit LocalStoreHarness(LocalBlobStoreOptions options) {
    options.directory = directory_ / "store";
    store_ = LocalBlobStore::open(options).value();
  }
  LocalBlobStore& store() override { return *store_; }
  void corrupt(const Digest& digest) override { flipBit(root(), digest); }
  std::string root() const { return directory_ / "store"; }

 private:
  testing_support::TempDirectory directory_;
  std::unique_ptr<LocalBlobStore> store_;
};

}  // namespace kiln::storage
