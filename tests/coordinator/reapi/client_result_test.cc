// What of a client's result is kept, and what is refused by name.
#include "coordinator/reapi/client_result.h"

#include <gtest/gtest.h>

#include "coordinator/reapi/result_blobs.h"
#include "storage/index/reapi/client_results.h"
#include "storage/tree/directory.h"
#include "tests/support/memory_blob_store.h"

namespace kiln::reapi_cache {
namespace {

reapi::OutputFile& addFile(reapi::ActionResult& result, const std::string& path) {
  auto& file = *result.add_output_files();
  file.set_path(path);
  *file.mutable_digest() = toProto(digestOf(path));
  return file;
}
reapi::OutputDirectory& addDirectory(reapi::ActionResult& result, const std::string& path,
                                     const Digest& tree) {
  auto& directory = *result.add_output_directories();
  directory.set_path(path);
  *directory.mutable_tree_digest() = toProto(tree);
  return directory;
}
void addLink(reapi::ActionResult& result, const std::string& path, const std::string& target) {
  auto& link = *result.add_output_symlinks();
  link.set_path(path);
  link.set_target(target);
}
void expectRefused(const reapi::ActionResult& result, const std::string& why) {
  const auto read = readClientResult(result);
  ASSERT_FALSE(read) << why;
  EXPECT_EQ(read.error().code, Code::kInvalidArgument);
  EXPECT_NE(read.error().message.find(why), std::string::npos) << read.error().message;
}

TEST(ClientResult, KeepsWhatIsGoodWithoutContents) {
  reapi::ActionResult result;
  addFile(result, "out/a.o").set_contents("the bytes");
  addDirectory(result, "", digestOf("tree"));
  addLink(result, "out/link", "../a");
  result.set_exit_code(3);
  const auto kept = readClientResult(result);
  ASSERT_TRUE(kept) << kept.error().message;
  result.mutable_output_files(0)->clear_contents();
  EXPECT_EQ(kept->SerializeAsString(), result.SerializeAsString());
}

TEST(ClientResult, RefusesPathsThatAreNotClean) {
  for (const std::string path : {"", "/a", "a/", "a//b", ".", "../a", "a/../b", "a\nb", "a\\b"}) {
    reapi::ActionResult result;
    addFile(result, path);
    expectRefused(result, "output_files");
    reapi::ActionResult links;
    addLink(links, path, "x");
    expectRefused(links, "output_symlinks");
    if (path.empty()) continue;
    reapi::ActionResult directories;
    addDirectory(directories, path, digestOf("tree"));
    expectRefused(directories, "output_directories");
  }
}

TEST(ClientResult, RefusesOutputsThatCannotBeTogether) {
  reapi::ActionResult twice;
  addFile(twice, "a");
  addDirectory(twice, "a", digestOf("tree"));
  expectRefused(twice, "another output has this path");
  reapi::ActionResult below;
  addFile(below, "a/b/c");
  addFile(below, "a/b");
  expectRefused(below, "stands below an output that is no directory");
}

TEST(ClientResult, RefusesLinksThatAreAbsoluteOrUnreadable) {
  for (const std::string& target :
       {std::string(), std::string("/etc/passwd"), std::string("a\nb"), std::string(5000, 'a')}) {
    reapi::ActionResult result;
    addLink(result, "l", target);
    expectRefused(result, "its target");
  }
}

TEST(ClientResult, RefusesMalformedDigests) {
  reapi::ActionResult result;
  addFile(result, "a").mutable_digest()->set_hash("short");
  expectRefused(result, "SHA-256");
  reapi::ActionResult none;
  none.add_output_directories()->set_path("d");
  expectRefused(none, "output_directories");
  reapi::ActionResult logs;
  logs.mutable_stdout_digest()->set_size_bytes(-1);
  expectRefused(logs, "stdout_digest");
}

TEST(ClientResult, IsBounded) {
  reapi::ActionResult many;
  for (int i = 0; i <= kMaxOutputs; ++i) addFile(many, "f" + std::to_string(i));
  expectRefused(many, "at most 20000");
  reapi::ActionResult large;
  large.set_stdout_raw(std::string(index::kMaxClientResult, 'x'));
  expectRefused(large, "upload logs as blobs");
}

class ResultBlobs : public testing::Test {
 protected:
  Digest put(std::string_view bytes) { return storage::putBlob(store_, "a", asBytes(bytes)).value(); }
  // A directory with one file of that name.
  static reapi::Directory directoryWith(const std::string& name) {
    reapi::Directory directory;
    directory.add_files()->set_name(name);
    *directory.mutable_files(0)->mutable_digest() = toProto(digestOf(name));
    return directory;
  }
  std::vector<Digest> missing(const reapi::ActionResult& result) {
    const auto found = missingBlobs(store_, "a", result);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(std::vector<Digest>());
  }
  testing_support::MemoryBlobStore store_;
};

TEST_F(ResultBlobs, LooksForFilesLogsAndWhatTreesName) {
  reapi::Tree tree;
  *tree.mutable_root() = directoryWith("in the root");
  *tree.add_children() = directoryWith("in a child");
  reapi::ActionResult result;
  addFile(result, "a file");
  addDirectory(result, "d", digestOf(tree.SerializeAsString()));
  *result.mutable_stderr_digest() = toProto(digestOf("a log"));
  EXPECT_EQ(missing(result).size(), 3u) << "nothing is known of a Tree that is not there";
  put(tree.SerializeAsString());
  EXPECT_EQ(missing(result).size(), 4u);
  for (const char* text : {"a file", "in the root", "a log"}) put(text);
  EXPECT_EQ(missing(result), std::vector{digestOf("in a child")});
  put("in a child");
  EXPECT_TRUE(missing(result).empty());
  EXPECT_EQ(missingBlobs(store_, "b", result)->size(), 3u) << "of another instance";
}

TEST_F(ResultBlobs, WalksRootDirectories) {
  const std::string below = storage::serialiseDirectory(directoryWith("below"));
  reapi::Directory root;
  root.add_directories()->set_name("d");
  *root.mutable_directories(0)->mutable_digest() = toProto(digestOf(below));
  const Digest digest = put(storage::serialiseDirectory(root));
  reapi::ActionResult result;
  result.add_output_directories()->set_path("out");
  *result.mutable_output_directories(0)->mutable_root_directory_digest() = toProto(digest);
  EXPECT_EQ(missing(result), std::vector{digest}) << "it is not whole";
  put(below);
  EXPECT_EQ(missing(result), std::vector{digestOf("below")});
  put("below");
  EXPECT_TRUE(missing(result).empty());
}

TEST_F(ResultBlobs, IsBounded) {
  reapi::ActionResult result;
  const auto code = [&](const ResultLimits& limits) {
    const auto found = missingBlobs(store_, "a", result, limits);
    return found ? Code() : found.error().code;
  };
  addDirectory(result, "d", put("no tree at all"));
  EXPECT_EQ(code({}), Code::kInvalidArgument);
  result.Clear();
  reapi::Tree tree;
  *tree.mutable_root() = directoryWith("f");
  addDirectory(result, "d", put(tree.SerializeAsString()));
  EXPECT_EQ(code({.treeBytes = 10}), Code::kInvalidArgument);
  EXPECT_EQ(code({.allTrees = 10}), Code::kInvalidArgument);
  EXPECT_EQ(code({.blobs = 1}), Code::kInvalidArgument);
  result.mutable_output_directories(0)->clear_tree_digest();
  reapi::Directory two = directoryWith("f");
  two.add_directories()->set_name("d");
  *two.mutable_directories(0)->mutable_digest() = toProto(digestOf(""));
  *result.mutable_output_directories(0)->mutable_root_directory_digest() =
      toProto(put(storage::serialiseDirectory(two)));
  EXPECT_EQ(code({.directoryEntries = 1}), Code::kInvalidArgument);
  EXPECT_EQ(code({}), Code());
}

}  // namespace
}  // namespace kiln::reapi_cache
