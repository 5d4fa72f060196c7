#include "api/client/upload.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "storage/blob/local_blob_store.h"
#include "tests/support/temp_directory.h"

namespace kiln::client {
namespace {

namespace fs = std::filesystem;

class UploadTest : public testing::Test {
 protected:
  void SetUp() override {
    storage::LocalBlobStoreOptions options;
    options.directory = directory_ / "store";
    store_ = std::move(*storage::LocalBlobStore::open(options));
  }
  std::string file(const std::string& name, const std::string& content) {
    const auto path = directory_ / name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  testing_support::TempDirectory directory_;
  std::unique_ptr<storage::BlobStore> store_;
};

TEST_F(UploadTest, SendsOnlyWhatIsMissing) {
  const auto a = file("a", std::string(3'000'000, 'a')), b = file("b", "b"), copy = file("copy", "b");
  UploadReport first;
  const auto digests = uploadFiles(*store_, "default", {a, b, copy}, first);
  ASSERT_TRUE(digests) << digests.error().message;
  EXPECT_EQ(first.files, 3);
  EXPECT_EQ(first.sent, 2);
  EXPECT_EQ(first.bytes, 3'000'001u);
  EXPECT_EQ((*digests)[1], (*digests)[2]);
  EXPECT_EQ(storage::getBlob(*store_, "default", (*digests)[0], 4'000'000)->size(), 3'000'000u);
  UploadReport again;
  ASSERT_TRUE(uploadFiles(*store_, "default", {a, b}, again));
  EXPECT_EQ(again.sent, 0);
}

TEST_F(UploadTest, TreeIsAMerkleTree) {
  file("tree/bin/tool", "#!");
  ASSERT_EQ(::chmod((directory_ / "tree/bin/tool").c_str(), 0755), 0);
  file("tree/data", "d");
  fs::create_symlink("bin/tool", directory_ / "tree/link");
  UploadReport report;
  const auto root = uploadTree(*store_, "default", directory_ / "tree", report);
  ASSERT_TRUE(root) << root.error().message;
  ::build::bazel::remote::execution::v2::Directory message;
  ASSERT_TRUE(message.ParseFromString(*storage::getBlob(*store_, "default", *root, 1 << 20)));
  ASSERT_EQ(message.files_size(), 1);
  EXPECT_EQ(message.files(0).name(), "data");
  EXPECT_FALSE(message.files(0).is_executable());
  ASSERT_EQ(message.directories_size(), 1);
  EXPECT_EQ(message.symlinks(0).target(), "bin/tool");
  const auto bin = Digest::parse(message.directories(0).digest().hash(),
                                 static_cast<std::uint64_t>(message.directories(0).digest().size_bytes()));
  ::build::bazel::remote::execution::v2::Directory inner;
  ASSERT_TRUE(inner.ParseFromString(*storage::getBlob(*store_, "default", *bin, 1 << 20)));
  EXPECT_TRUE(inner.files(0).is_executable());
  UploadReport again;
  EXPECT_EQ(*uploadTree(*store_, "default", directory_ / "tree", again), *root);
  EXPECT_EQ(again.sent, 0);
}

TEST_F(UploadTest, TreeRefusesLinksOutAndSpecialFiles) {
  file("out/data", "d");
  fs::create_symlink("../../../etc/passwd", directory_ / "out/link");
  UploadReport report;
  const auto linked = uploadTree(*store_, "default", directory_ / "out", report);
  ASSERT_FALSE(linked);
  EXPECT_NE(linked.error().message.find("out/link"), std::string::npos);
  fs::create_directories(directory_ / "fifo");
  ASSERT_EQ(::mkfifo((directory_ / "fifo/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(uploadTree(*store_, "default", directory_ / "fifo", report));
  EXPECT_FALSE(uploadTree(*store_, "default", directory_ / "nowhere", report));
}

}  // namespace
}  // namespace kiln::client
