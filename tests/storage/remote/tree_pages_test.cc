#include "storage/remote/tree_pages.h"

#include <gtest/gtest.h>

#include "storage/tree/directory.h"
#include "tests/support/memory_blob_store.h"

namespace kiln::storage {
namespace {

class TreePagesTest : public testing::Test {
 protected:
  using Children = std::vector<std::pair<std::string, Digest>>;

  Digest put(const std::string& file, const Children& children = {}) {
    reapi::Directory directory;
    if (!file.empty()) {
      auto* node = directory.add_files();
      node->set_name(file);
      *node->mutable_digest() = toProto(digestOf(file));
    }
    for (const auto& [name, digest] : children) {
      auto* node = directory.add_directories();
      node->set_name(name);
      *node->mutable_digest() = toProto(digest);
    }
    return putBlob(store_, "a", asBytes(serialiseDirectory(directory))).value();
  }
  // The root with children "0" to "9", each of which holds the same folder "shared".
  Digest putWide() {
    const Digest shared = put("shared");
    Children children;
    for (char name = '0'; name <= '9'; ++name)
      children.emplace_back(std::string(1, name), put(std::string("file") + name, {{"shared", shared}}));
    return put("root", children);
  }
  Status get(const TreePages& wanted, const TreePageLimits& limits = {}) {
    pages_.clear();
    return sendTree(
        store_, "a", wanted,
        [this](const reapi::GetTreeResponse& page) -> Status {
          pages_.push_back(page);
          return {};
        },
        limits);
  }
  // The digests of the last answer, in its order.
  std::vector<Digest> given() const {
    std::vector<Digest> out;
    for (const auto& page : pages_)
      for (const auto& directory : page.directories()) out.push_back(digestOf(directory.SerializeAsString()));
    return out;
  }

  testing_support::MemoryBlobStore store_;
  std::vector<reapi::GetTreeResponse> pages_;
};

TEST_F(TreePagesTest, EachDirectoryComesOnceTheRootFirst) {
  const Digest root = putWide();
  ASSERT_TRUE(get({root}));
  ASSERT_EQ(pages_.size(), 1u);
  EXPECT_EQ(pages_[0].next_page_token(), "");
  const auto all = given();
  EXPECT_EQ(all.size(), 12u);
  EXPECT_EQ(all.front(), root);
  EXPECT_EQ(std::set<Digest>(all.begin(), all.end()).size(), 12u);
}

TEST_F(TreePagesTest, AnEmptyTreeIsItsRoot) {
  ASSERT_TRUE(get({put("")}));
  EXPECT_EQ(given(), std::vector{digestOf("")});
}

TEST_F(TreePagesTest, GoesOnAfterAnyPage) {
  const Digest root = putWide();
  ASSERT_TRUE(get({root}));
  const auto all = given();
  ASSERT_TRUE(get({root, 5}));
  ASSERT_EQ(pages_.size(), 3u);
  EXPECT_EQ(given(), all);
  EXPECT_EQ(pages_[2].next_page_token(), "");
  const auto pages = pages_;
  for (const std::size_t page : {0, 1}) {
    ASSERT_TRUE(get({root, 5, pages[page].next_page_token()}));
    EXPECT_EQ(given(), std::vector<Digest>(all.begin() + 5 * (static_cast<long>(page) + 1), all.end()));
  }
}

TEST_F(TreePagesTest, TakesNoTokenThatItDidNotGive) {
  const Digest root = putWide(), other = put("other", {{"x", put("below")}});
  ASSERT_TRUE(get({root, 5}));
  const std::string good = pages_[0].next_page_token();
  for (const std::string& bad :
       {std::string("x"), good + "0", good + "x", " " + good, root.hex() + "-0", root.hex() + "--5",
        root.hex() + "-05", root.hex() + "-99999999999999999999999", root.hex() + "-12", root.hex() + "-",
        std::string(100'000, '1')})
    EXPECT_EQ(get({root, 5, bad}).error().code, Code::kInvalidArgument) << bad.substr(0, 100);
  EXPECT_EQ(get({other, 5, good}).error().code, Code::kInvalidArgument) << "of another tree";
  EXPECT_EQ(get({root, -1}).error().code, Code::kInvalidArgument);
}

TEST_F(TreePagesTest, NamesWhatIsMissing) {
  const Digest gone = digestOf("gone");
  const Digest root = put("root", {{"a", put("here")}, {"b", gone}});
  const Status status = get({root});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNotFound);
  EXPECT_NE(status.error().message.find(gone.text()), std::string::npos) << status.error().message;
  EXPECT_EQ(get({gone}).error().code, Code::kNotFound);
  EXPECT_FALSE(sendTree(store_, "b", {root}, [](const auto&) -> Status { return {}; }))
      << "of another instance";
}

TEST_F(TreePagesTest, IsBounded) {
  const Digest root = putWide();
  EXPECT_TRUE(get({root}, {.directories = 12, .depth = 2}));
  EXPECT_EQ(get({root}, {.directories = 11}).error().code, Code::kOutOfRange);
  EXPECT_EQ(get({root}, {.depth = 1}).error().code, Code::kOutOfRange);
  EXPECT_EQ(get({root}, {.bytes = 1000}).error().code, Code::kOutOfRange);
  EXPECT_TRUE(get({root, 1000}, {.page = 4}));
  EXPECT_EQ(pages_.size(), 3u) << "a client may ask for less, not for more";
  Digest large = digestOf("large");
  large.size = kMaxBatchBytes + 1;
  EXPECT_FALSE(get({put("root", {{"a", large}})}));
}

TEST_F(TreePagesTest, PagesFitAMessage) {
  Children children;
  for (int child = 0; child < 6; ++child) {
    reapi::Directory directory;
    for (int i = 0; i < 10'000; ++i) {
      auto* node = directory.add_files();
      node->set_name(std::to_string(100'000 * (child + 1) + i));
      *node->mutable_digest() = toProto(digestOf("x"));
    }
    children.emplace_back(std::to_string(child),
                          putBlob(store_, "a", asBytes(serialiseDirectory(directory))).value());
  }
  ASSERT_TRUE(get({put("root", children)}));
  EXPECT_GE(pages_.size(), 2u);
  for (const auto& page : pages_) EXPECT_LE(page.ByteSizeLong(), 4u << 20);
  EXPECT_EQ(given().size(), 7u);
}

TEST_F(TreePagesTest, RefusesWhatIsNoDirectory) {
  const auto refused = [this](std::string_view bytes) {
    const Digest digest = putBlob(store_, "a", asBytes(bytes)).value();
    const Status status = get({put("root", {{"a", digest}})});
    EXPECT_FALSE(status);
    return status ? Code() : status.error().code;
  };
  EXPECT_EQ(refused("no message"), Code::kInvalidArgument);
  reapi::Directory directory;
  directory.add_directories()->set_name("..");
  *directory.mutable_directories(0)->mutable_digest() = toProto(digestOf("x"));
  EXPECT_EQ(refused(directory.SerializeAsString()), Code::kInvalidArgument);
  directory.mutable_directories(0)->set_name("a");
  directory.mutable_directories(0)->mutable_digest()->set_size_bytes(-1);
  EXPECT_EQ(refused(directory.SerializeAsString()), Code::kInvalidArgument);
  directory.Clear();
  directory.add_symlinks()->set_name("l");
  directory.mutable_symlinks(0)->set_target("/etc/passwd");
  EXPECT_EQ(refused(directory.SerializeAsString()), Code::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::storage
