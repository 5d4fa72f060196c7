#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "storage/tree/directory.h"
#include "storage/tree/materialise.h"
#include "storage/tree/tree_builder.h"
#include "storage/tree/upload_tree.h"
#include "tests/support/local_store_harness.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

void writeFile(const std::string& path, const std::string& text, bool executable = false) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
  fs::permissions(path, executable ? fs::perms(0755) : fs::perms(0640));
}

class Tree : public testing::Test {
 protected:
  BlobStore& store() { return harness_.store(); }
  std::string at(const std::string& name) { return directory_ / name; }
  Digest put(const reapi::Directory& directory) {
    return putBlob(store(), "a", asBytes(directory.SerializeAsString())).value();
  }
  Digest putText(const std::string& text) { return putBlob(store(), "a", asBytes(text)).value(); }
  std::string walkError(const Digest& root, const TreeLimits& limits = {}) {
    auto walked = walkTree(store(), "a", root, limits);
    if (walked) return "no error";
    EXPECT_TRUE(walked.error().code == Code::kInvalidArgument || walked.error().code == Code::kOutOfRange)
        << codeName(walked.error().code);
    // Whatever walking refuses, materialising refuses, and leaves nothing.
    EXPECT_FALSE(materialiseTree(store(), "a", root, at("refused"), limits));
    EXPECT_FALSE(fs::exists(at("refused")));
    return walked.error().message;
  }
  void addFile(reapi::Directory& directory, const std::string& name, const Digest& digest) {
    auto* file = directory.add_files();
    file->set_name(name);
    *file->mutable_digest() = toProto(digest);
  }
  void addDirectory(reapi::Directory& directory, const std::string& name, const Digest& digest) {
    auto* child = directory.add_directories();
    child->set_name(name);
    *child->mutable_digest() = toProto(digest);
  }
  void addLink(reapi::Directory& directory, const std::string& name, const std::string& target) {
    auto* link = directory.add_symlinks();
    link->set_name(name);
    link->set_target(target);
  }

  // `node` below so many directories with the longest names.
  Digest below(Digest node, int levels) {
    for (int level = 0; level < levels; ++level) {
      reapi::Directory one;
      addDirectory(one, std::string(255, 'd'), node);
      node = put(one);
    }
    return node;
  }

  LocalStoreHarness harness_;
  testing_support::TempDirectory directory_;
};

TEST_F(Tree, GoesToTheStoreAndBack) {
  writeFile(at("in/bin/tool"), "#!/bin/sh\n", true);
  writeFile(at("in/lib/data"), "data");
  writeFile(at("in/top"), "");
  fs::create_directories(at("in/empty"));
  fs::create_symlink("../lib/data", at("in/bin/link"));
  auto root = uploadTree(store(), "a", at("in"));
  ASSERT_TRUE(root) << root.error().message;

  ASSERT_TRUE(materialiseTree(store(), "a", *root, at("out")));
  std::ifstream data(at("out/bin/link"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(data), {}), "data");
  auto mode = [&](const std::string& name) {
    struct stat file{};
    EXPECT_EQ(::lstat(at(name).c_str(), &file), 0) << name;
    EXPECT_EQ(file.st_mtim.tv_sec, 1) << name;
    return file.st_mode & 07777;
  };
  EXPECT_EQ(mode("out/bin/tool"), 0555u);
  EXPECT_EQ(mode("out/lib/data"), 0444u);
  EXPECT_EQ(mode("out/bin"), 0755u);
  EXPECT_EQ(mode("out"), 0755u);
  mode("out/bin/link");
  EXPECT_TRUE(fs::is_directory(at("out/empty")));
  EXPECT_EQ(uploadTree(store(), "a", at("out")).value(), *root);
  EXPECT_EQ(materialiseTree(store(), "a", *root, at("out")).error().code, Code::kAlreadyExists);
}

TEST_F(Tree, NamesAreCutBetweenCharacters) {
  std::string name(79, 'n');
  name += "\xc3\xa9";
  const std::string shown = std::string(79, 'n') + "...";
  EXPECT_NE(checkName(name + "/").error().message.find("'" + shown + "'"), std::string::npos);
  EXPECT_NE(checkSymlinkTarget("/" + name.substr(1), 0).error().message.find("n...'"), std::string::npos);
  reapi::Directory twice;
  addFile(twice, name, digestOf("x"));
  addFile(twice, name, digestOf("x"));
  EXPECT_NE(walkError(put(twice)).find("'" + shown + "'"), std::string::npos);
  EXPECT_NE(checkName("a\xe2\x80\xae/").error().message.find("'a?/'"), std::string::npos)
      << "what turns the direction of text";
}

TEST_F(Tree, TheSameContentHasOneDigest) {
  Digest x = putText("x"), y = putText("y");
  TreeBuilder one, other;
  ASSERT_TRUE(one.addFile("d/x", x, false) && one.addFile("a", y, true) && one.addFile("b", x, false));
  ASSERT_TRUE(other.addFile("b", x, false) && other.addFile("a", y, true) && other.addFile("d/x", x, false));
  EXPECT_EQ(one.build().root, other.build().root);
  EXPECT_EQ(TreeBuilder().build().root, digestOf(""));

  // A tree made elsewhere is taken in by its digest.
  TreeBuilder inner, outer;
  ASSERT_TRUE(inner.addFile("x", x, false));
  ASSERT_TRUE(outer.addTree("d", inner.build().root) && outer.addFile("a", y, true) &&
              outer.addFile("b", x, false));
  EXPECT_EQ(outer.build().root, one.build().root);
}

TEST_F(Tree, TheBuilderRefusesBadPaths) {
  TreeBuilder builder;
  Digest x = digestOf("x");
  ASSERT_TRUE(builder.addFile("f", x, false));
  ASSERT_TRUE(builder.addTree("t", x));
  for (const char* bad : {"", "/", "/a", "a/", "a//b", "../a", "a/../b", "./a", "a\nb"})
    EXPECT_EQ(builder.addFile(bad, x, false).error().code, Code::kInvalidArgument) << bad;
  for (const char* taken : {"f", "f/x", "t", "t/x"})
    EXPECT_EQ(builder.addFile(taken, x, false).error().code, Code::kAlreadyExists) << taken;
  EXPECT_EQ(builder.addSymlink("d/l", "../../x").error().code, Code::kInvalidArgument);
  EXPECT_TRUE(builder.addSymlink("d/l", "../x"));
}

// A Directory's names are strings of protobuf, which are UTF-8.
TEST_F(Tree, NamesThatAreNotUtf8AreRefusedByTheirPath) {
  for (const std::string& bad :
       {std::string("a\xff"), std::string("dir/\xc3"), std::string("\xed\xa0\x80/a")}) {
    TreeBuilder builder;
    for (const Status& status : {builder.addFile(bad, digestOf("x"), false), builder.addSymlink(bad, "a"),
                                 builder.addSymlink("link", bad), builder.addDirectory(bad)}) {
      ASSERT_FALSE(status) << bad;
      EXPECT_EQ(status.error().code, Code::kInvalidArgument);
      EXPECT_NE(status.error().message.find("path '"), std::string::npos) << status.error().message;
    }
  }
  TreeBuilder builder;
  EXPECT_TRUE(builder.addFile("\xc3\xa9", digestOf("x"), false));
}

TEST_F(Tree, ListsItsEntries) {
  TreeBuilder builder;
  ASSERT_TRUE(builder.addFile("d/x", putText("x"), true) && builder.addSymlink("l", "d"));
  BuiltTree tree = builder.build();
  ASSERT_TRUE(uploadMissing(store(), "a", tree.directories));
  auto entries = walkTree(store(), "a", tree.root).value();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].path, "l");
  EXPECT_EQ(entries[1].path, "d");
  EXPECT_EQ(entries[2].path, "d/x");
  EXPECT_TRUE(entries[2].executable);
}

TEST_F(Tree, HostileNamesAreRefused) {
  for (std::string name :
       {std::string(".."), std::string("."), std::string("a/b"), std::string(), std::string("/etc"),
        std::string(256, 'n'), std::string("nul\0l", 5), std::string("new\nline")}) {
    reapi::Directory directory;
    addFile(directory, name, digestOf("x"));
    EXPECT_NE(walkError(put(directory)), "no error") << name;
  }
}

TEST_F(Tree, UnsortedRepeatedAndUnknownMembersAreRefused) {
  reapi::Directory unsorted;
  addFile(unsorted, "b", digestOf("x"));
  addFile(unsorted, "a", digestOf("x"));
  EXPECT_NE(walkError(put(unsorted)).find("not sorted at 'a'"), std::string::npos);
  reapi::Directory twice;
  addFile(twice, "a", digestOf("x"));
  addLink(twice, "a", "b");
  EXPECT_NE(walkError(put(twice)).find("two directory members"), std::string::npos);
  reapi::Directory plain;
  addFile(plain, "a", digestOf("x"));
  EXPECT_NE(walkError(putText(plain.SerializeAsString() + "\x7a\x01x")).find("canonical"), std::string::npos);
  EXPECT_NE(walkError(putText("not a message")), "no error");
  plain.mutable_files(0)->mutable_digest()->set_size_bytes(-1);
  EXPECT_NE(walkError(put(plain)), "no error");
}

TEST_F(Tree, SymlinksStayInside) {
  auto check = [](const std::string& target, std::size_t depth) {
    return checkSymlinkTarget(target, depth).has_value();
  };
  EXPECT_TRUE(check("x", 0));
  EXPECT_TRUE(check("x/y", 0));
  EXPECT_TRUE(check("..", 1));
  EXPECT_TRUE(check("../../x", 2));
  for (const char* bad : {"", "/etc/passwd", "..", "../x", "x/../y", "./x", "x//y", "x/"})
    EXPECT_FALSE(check(bad, 0)) << bad;
  EXPECT_FALSE(check("../../x", 1));
  EXPECT_FALSE(check("up/..", 5));
  reapi::Directory directory;
  addLink(directory, "evil", "/etc/passwd");
  EXPECT_NE(walkError(put(directory)).find("absolute"), std::string::npos);
}

TEST_F(Tree, SizeIsBounded) {
  reapi::Directory leaf;
  addFile(leaf, "f", digestOf("12345"));
  Digest node = put(leaf);
  // Ten levels of doubling: 1,024 leaves behind 11 blobs.
  for (int level = 0; level < 10; ++level) {
    reapi::Directory pair;
    addDirectory(pair, "a", node);
    addDirectory(pair, "b", node);
    node = put(pair);
  }
  EXPECT_EQ(walkTree(store(), "a", node).value().size(), 2046u + 1024u);
  EXPECT_NE(walkError(node, {.entries = 1000}).find("more than 1000 entries"), std::string::npos);
  EXPECT_NE(walkError(node, {.depth = 9}).find("deeper than 9"), std::string::npos);
  EXPECT_NE(walkError(node, {.totalBytes = 5119}).find("more than 5119 bytes"), std::string::npos);
  EXPECT_NE(walkError(node, {.directoryBytes = 10}).find("more than the 10 allowed"), std::string::npos);
}

// What is no entry costs as well: properties of directories, and long paths to entries that are shared.
TEST_F(Tree, WhatAWalkTakesIsBounded) {
  reapi::Directory heavy;
  heavy.mutable_node_properties()->add_properties()->set_value(std::string(100'000, 'x'));
  const Digest shared = put(heavy);
  reapi::Directory root;
  for (int i = 100; i < 200; ++i) addDirectory(root, std::to_string(i), shared);
  const Digest wide = put(root);
  EXPECT_EQ(walkError(wide), "no error");
  EXPECT_NE(
      walkError(wide, {.walkedBytes = 9'000'000}).find("directories and paths of more than 9000000 bytes"),
      std::string::npos);

  reapi::Directory files;
  for (int i = 1000; i < 2000; ++i) addFile(files, std::to_string(i), digestOf("x"));
  Digest node = put(files);
  node = below(node, 3);
  EXPECT_EQ(walkError(node), "no error");
  EXPECT_NE(walkError(node, {.walkedBytes = 500'000}).find("directories and paths"), std::string::npos);
  EXPECT_EQ(findMissingInTree(store(), "a", node, {.walkedBytes = 500'000}).error().code, Code::kOutOfRange);
}

TEST_F(Tree, PathsAreBounded) {
  reapi::Directory leaf;
  addFile(leaf, "f", putText("x"));
  EXPECT_EQ(walkError(below(put(leaf), 3)), "no error");
  const Digest deep = below(put(leaf), 60);
  EXPECT_EQ(walkTree(store(), "a", deep).error().code, Code::kInvalidArgument);
  EXPECT_EQ(findMissingInTree(store(), "a", deep).error().code, Code::kInvalidArgument);
  const std::string refusal = walkError(deep);
  EXPECT_NE(refusal.find("a path of more than 1024 bytes"), std::string::npos) << refusal;
  EXPECT_LT(refusal.size(), 300u) << "the path itself is not quoted in full";
  EXPECT_LT(walkError(below(putText("no message"), 3)).size(), 300u);
}

TEST_F(Tree, SeveralWalksHaveOneBudget) {
  reapi::Directory heavy, one, other;
  heavy.mutable_node_properties()->add_properties()->set_value(std::string(100'000, 'x'));
  const Digest shared = put(heavy);
  addDirectory(one, "one", shared);
  addDirectory(other, "other", shared);
  TreeWalker walker(store(), "a", {.walkedBytes = 200'000});
  EXPECT_EQ(walker.walk(put(one)).value().size(), 1u);
  EXPECT_EQ(walker.walk(put(other)).error().code, Code::kOutOfRange);
  TreeWalker counted(store(), "a", {.entries = 1});
  EXPECT_TRUE(counted.findMissing(put(one)));
  EXPECT_EQ(counted.findMissing(put(other)).error().code, Code::kOutOfRange);
}

TEST_F(Tree, AWalkThatNobodyWaitsForEnds) {
  reapi::Directory root;
  for (int i = 100; i < 200; ++i) addDirectory(root, std::to_string(i), put({}));
  const Digest wide = put(root);
  int asked = 0;
  TreeWalker walker(store(), "a", {}, [&] { return ++asked > 10; });
  EXPECT_EQ(walker.findMissing(wide).error().code, Code::kCancelled);
  EXPECT_EQ(asked, 11) << "it is asked at each directory";
  EXPECT_EQ(walker.walk(wide).error().code, Code::kCancelled);
}

// A Directory is read once, but what its links may say depends on where it stands.
TEST_F(Tree, LinksOfASharedDirectoryStayInsideWhereverItStands) {
  reapi::Directory shared, between, root;
  addLink(shared, "up", "../../x");
  addDirectory(between, "b", put(shared));
  addDirectory(root, "a", put(between));
  EXPECT_EQ(walkError(put(root)), "no error");
  addDirectory(root, "c", put(shared));
  const std::string refusal = walkError(put(root));
  EXPECT_NE(refusal.find("leaves the tree"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("'c'"), std::string::npos) << refusal;
}

TEST_F(Tree, AMissingDirectoryIsNamedOnce) {
  reapi::Directory root;
  addDirectory(root, "a", digestOf("gone"));
  addDirectory(root, "b", digestOf("gone"));
  const Digest digest = put(root);
  TreeWalker walker(store(), "a", {});
  EXPECT_EQ(walker.findMissing(digest).value(), std::vector<Digest>{digestOf("gone")});
  EXPECT_TRUE(walker.findMissing(digest).value().empty()) << "it was named already";
  EXPECT_EQ(walker.walk(digest).error().code, Code::kNotFound);
}

TEST_F(Tree, MissingPartsAreFound) {
  Digest there = putText("there");
  reapi::Directory root;
  addFile(root, "absent", digestOf("absent"));
  addFile(root, "there", there);
  addDirectory(root, "d", digestOf("no such directory"));
  Digest digest = put(root);
  EXPECT_EQ(findMissingInTree(store(), "a", digest).value(),
            (std::vector<Digest>{digestOf("no such directory"), digestOf("absent")}));
  EXPECT_EQ(walkTree(store(), "a", digest).error().code, Code::kNotFound);
  EXPECT_EQ(findMissingInTree(store(), "a", digestOf("nothing")).value(),
            std::vector<Digest>{digestOf("nothing")});
  reapi::Directory fileOnly;
  addFile(fileOnly, "absent", digestOf("absent"));
  EXPECT_EQ(materialiseTree(store(), "a", put(fileOnly), at("out")).error().code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(at("out")));
}

// Counts what is asked of the store by itself and together.
class CallCounter final : public BlobStore {
 public:
  explicit CallCounter(BlobStore& inner) : inner_(inner) {}
  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override {
    return inner_.beginWrite(instance, digest);
  }
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override {
    ++reads;
    return inner_.read(instance, digest, offset, length, sink);
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    return inner_.findMissing(instance, digests);
  }
  std::vector<Result<std::string>> getBatch(const std::string& instance,
                                            std::span<const Digest> digests) override {
    ++batches;
    std::uint64_t bytes = 0;
    for (const Digest& digest : digests) bytes += digest.size;
    largest = std::max(largest, bytes);
    return inner_.getBatch(instance, digests);
  }

  int reads = 0, batches = 0;
  std::uint64_t largest = 0;

 private:
  BlobStore& inner_;
};

// Over a network each call costs a way to the store and back.
TEST_F(Tree, AThousandFilesTakeFewCalls) {
  for (int i = 0; i < 1000; ++i)
    writeFile(at("in/d" + std::to_string(i % 50) + "/f" + std::to_string(i)), "file " + std::to_string(i / 2),
              i % 2);
  writeFile(at("in/large"), std::string(1 << 20, 'l'));
  const auto root = uploadTree(store(), "a", at("in"));
  ASSERT_TRUE(root) << root.error().message;
  CallCounter counted(store());
  ASSERT_TRUE(materialiseTree(counted, "a", *root, at("out")));
  EXPECT_EQ(counted.reads, 2) << "the root and the large file";
  EXPECT_EQ(counted.batches, 2) << "the directories, and 500 different files";
  EXPECT_EQ(uploadTree(store(), "a", at("out")).value(), *root);
}

TEST_F(Tree, NoBatchHoldsMoreThanAFewMegabytes) {
  for (int i = 0; i < 50; ++i)
    writeFile(at("in/f" + std::to_string(i)), std::string(200'000 + static_cast<std::size_t>(i), 'x'));
  const auto root = uploadTree(store(), "a", at("in"));
  CallCounter counted(store());
  ASSERT_TRUE(materialiseTree(counted, "a", *root, at("out")));
  EXPECT_EQ(counted.batches, 4);
  EXPECT_LE(counted.largest, 3u << 20);
  EXPECT_EQ(uploadTree(store(), "a", at("out")).value(), *root);
}

TEST_F(Tree, ASmallFileThatIsMissingOrDamagedIsNamedAndNothingIsLeft) {
  writeFile(at("in/d/one"), "one");
  writeFile(at("in/d/two"), "two");
  const auto root = uploadTree(store(), "a", at("in"));
  harness_.corrupt(digestOf("two"));
  const Status made = materialiseTree(store(), "a", *root, at("out"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kDataLoss);
  EXPECT_NE(made.error().message.find("'d/two'"), std::string::npos) << made.error().message;
  EXPECT_FALSE(fs::exists(at("out")));
  EXPECT_EQ(materialiseTree(store(), "a", *root, at("out")).error().code, Code::kNotFound)
      << "it was put aside";
  EXPECT_FALSE(fs::exists(at("out")));
}

TEST_F(Tree, OnlyFilesDirectoriesAndLinksAreUploaded) {
  writeFile(at("in/f"), "f");
  ASSERT_EQ(::mkfifo(at("in/pipe").c_str(), 0600), 0);
  auto refused = uploadTree(store(), "a", at("in"));
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("in/pipe"), std::string::npos);
  EXPECT_EQ(uploadTree(store(), "a", at("absent")).error().code, Code::kNotFound);
}

TEST_F(Tree, MutatedDirectoriesNeverCrash) {
  reapi::Directory directory;
  for (const char* name : {"a", "b", "c"}) addFile(directory, name, digestOf(name));
  addLink(directory, "l", "a");
  std::string bytes = directory.SerializeAsString();
  google::protobuf::LogSilencer quiet;  // it complains about every string that is not UTF-8
  std::mt19937 random(11);
  for (int i = 0; i < 20'000; ++i) {
    std::string mutant = bytes.substr(0, random() % (bytes.size() + 1));
    for (unsigned k = 0; k < random() % 4 && !mutant.empty(); ++k)
      mutant[random() % mutant.size()] = static_cast<char>(random());
    auto parsed = parseDirectory(mutant, 0);
    if (parsed) {
      EXPECT_EQ(serialiseDirectory(*parsed), mutant);
    }
  }
}

}  // namespace
}  // namespace kiln::storage
