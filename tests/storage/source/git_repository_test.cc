#include "storage/source/git_repository.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/git_fixture.h"

namespace kiln::source {
namespace {

using testing_support::GitFixture;

class LocalRepository : public testing::Test {
 protected:
  LocalRepository() {
    git_.add("model.onnx", "model bytes");
    git_.add("dir/weights.bin", std::string("w\0x", 3));
    std::filesystem::create_symlink("model.onnx", git_.directory() + "/link.onnx");
    std::filesystem::create_symlink("dir", git_.directory() + "/linked");
    git_.git("add link.onnx linked");
    commit_ = git_.commit();
  }
  std::string error(const std::string& path) {
    auto read = CommitTree::openLocal(git_.directory(), commit_).value().read(path, 1 << 20);
    return read ? "no error" : read.error().message;
  }
  // What opening the commit or reading the model ends with.
  Result<std::string> readModel(const std::string& directory = "") {
    auto tree = CommitTree::openLocal(directory.empty() ? git_.directory() : directory, commit_);
    if (!tree) return fail(tree.error());
    return tree->read("model.onnx", 1 << 20);
  }
  std::string looseFile(const std::string& revision) {
    const std::string id = git_.git("rev-parse '" + revision + "'");
    return git_.directory() + "/.git/objects/" + id.substr(0, 2) + "/" + id.substr(2);
  }
  static std::string compressed(const std::string& bytes) {
    std::string packed(compressBound(bytes.size()), '\0');
    uLongf size = packed.size();
    EXPECT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                       reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
              Z_OK);
    return packed.substr(0, size);
  }
  static void write(const std::string& path, const std::string& bytes) {
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::string openError(const std::string& commit) {
    auto opened = CommitTree::openLocal(git_.directory(), commit);
    if (opened) return "no error";
    EXPECT_EQ(opened.error().code, Code::kInvalidArgument) << opened.error().message;
    return opened.error().message;
  }

  GitFixture git_;
  std::string commit_;
};

TEST_F(LocalRepository, ReadsTheCommitNotTheWorkingTree) {
  git_.add("model.onnx", "changed");
  git_.commit();
  auto tree = CommitTree::openLocal(git_.directory(), commit_);
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(tree->read("model.onnx", 100).value(), "model bytes");
  EXPECT_EQ(tree->read("dir/weights.bin", 100).value(), std::string("w\0x", 3));
  EXPECT_EQ(tree->commit(), commit_);
}

TEST_F(LocalRepository, NamesInsteadOfCommitsAreRefusedWithTheCommitTheyMean) {
  git_.git("tag light");
  git_.git("tag -a heavy -m x");
  git_.git("branch feature/x");
  for (std::string name : {"main", "feature/x", "light", "heavy", "HEAD"}) {
    std::string message = openError(name);
    EXPECT_NE(message.find("it is commit " + commit_ + " now: write @" + commit_), std::string::npos)
        << message;
  }
  EXPECT_NE(openError("light").find("is a tag"), std::string::npos);
  EXPECT_NE(openError("main").find("is a branch"), std::string::npos);
  std::string shortId = openError(commit_.substr(0, 10));
  EXPECT_NE(shortId.find("is an abbreviated commit"), std::string::npos) << shortId;
  EXPECT_NE(shortId.find(commit_), std::string::npos);
  EXPECT_NE(openError("no-such-name").find("40 lowercase hex digits"), std::string::npos);
  EXPECT_NE(openError(std::string(64, 'a')).find("SHA-256"), std::string::npos);
  EXPECT_NE(openError(git_.git("rev-parse heavy")).find("it is commit " + commit_), std::string::npos);
}

TEST_F(LocalRepository, OnlyRegularFilesAreRead) {
  EXPECT_NE(error("link.onnx").find("'link.onnx' in the repository is a symbolic link"), std::string::npos);
  EXPECT_NE(error("linked/weights.bin").find("'linked' in the repository is a symbolic link"),
            std::string::npos);
  EXPECT_NE(error("dir").find("a directory"), std::string::npos);
  EXPECT_NE(error("model.onnx/x").find("a file, not a directory"), std::string::npos);
  EXPECT_NE(error("absent/x.onnx").find("'absent' is not in commit " + commit_), std::string::npos);
  EXPECT_NE(error("../../etc/passwd").find("relative"), std::string::npos);
}

TEST_F(LocalRepository, SubmodulesAreRefused) {
  GitFixture other;
  other.add("m.onnx", "x");
  other.commit();
  git_.git("submodule --quiet add '" + other.directory() + "' sub");
  commit_ = git_.commit();
  EXPECT_NE(error("sub/m.onnx").find("'sub' in the repository is a submodule"), std::string::npos)
      << error("sub/m.onnx");
}

TEST_F(LocalRepository, SizeIsBounded) {
  auto tree = CommitTree::openLocal(git_.directory(), commit_).value();
  EXPECT_EQ(tree.read("model.onnx", 10).error().code, Code::kOutOfRange);
  EXPECT_TRUE(tree.read("model.onnx", 11));
}

TEST_F(LocalRepository, AbsentRepositoriesAndCommitsAreNamed) {
  auto none = CommitTree::openLocal("/nonexistent", commit_);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_NE(none.error().message.find("/nonexistent"), std::string::npos);
  auto absent = CommitTree::openLocal(git_.directory(), std::string(40, '1'));
  EXPECT_EQ(absent.error().code, Code::kNotFound);
  EXPECT_NE(absent.error().message.find(std::string(40, '1')), std::string::npos);
}

TEST_F(LocalRepository, PackedBareAndWorktreeRepositoriesAreReadToo) {
  git_.git("worktree add -q ../tree HEAD");
  const std::string parent = std::filesystem::path(git_.directory()).parent_path();
  git_.git("clone -q --bare . ../bare.git");
  git_.git("gc -q");
  EXPECT_FALSE(std::filesystem::exists(looseFile("HEAD")));
  for (const std::string& directory :
       {git_.directory(), git_.directory() + "/.git", parent + "/tree", parent + "/bare.git"}) {
    const auto model = readModel(directory);
    ASSERT_TRUE(model) << directory << ": " << model.error().message;
    EXPECT_EQ(*model, "model bytes");
  }
}

// libgit2 1.5 writes what is too much behind its buffer.
TEST_F(LocalRepository, LooseObjectsOfAnotherLengthThanTheyDeclareAreRefused) {
  const std::pair<const char*, const char*> objects[] = {
      {"HEAD", "commit"}, {"HEAD^{tree}", "tree"}, {"HEAD:model.onnx", "blob"}};
  for (const auto& [revision, type] : objects) {
    const std::string kept = looseFile(revision) + ".kept";
    for (const std::size_t length : {1000u, 1'000'000u})
      for (const char* declared : {"0", "10", "999", "4000000"}) {
        const std::string path = looseFile(revision);
        std::filesystem::rename(path, kept);
        write(path, compressed(std::string(type) + " " + declared + '\0' + std::string(length, 'A')));
        const auto model = readModel();
        std::filesystem::rename(kept, path);
        ASSERT_FALSE(model) << type << " " << declared;
        const bool large = std::string(type) == "blob" && std::string(declared) == "4000000";
        EXPECT_EQ(model.error().code, large ? Code::kOutOfRange : Code::kDataLoss)
            << type << " " << declared << ": " << model.error().message;
      }
  }
  EXPECT_TRUE(readModel());
}

TEST_F(LocalRepository, LooseObjectsThatAreMalformedAreRefused) {
  std::string header = "blob 11";
  header += '\0';
  for (const std::string& content :
       {std::string("blob"), std::string("blob 11"), std::string("blob x") + '\0' + "model bytes",
        std::string("stone 11") + '\0' + "model bytes", std::string("blob 18446744073709551616") + '\0',
        header + "other bytes"}) {
    write(looseFile("HEAD:model.onnx"), compressed(content));
    const auto model = readModel();
    ASSERT_FALSE(model) << content;
    EXPECT_EQ(model.error().code, Code::kDataLoss) << model.error().message;
  }
  write(looseFile("HEAD:model.onnx"), compressed(header + "model bytes"));
  ASSERT_TRUE(readModel());
  std::stringstream whole;
  whole << std::ifstream(looseFile("HEAD:model.onnx"), std::ios::binary).rdbuf();
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, whole.str().size() - 1}) {
    write(looseFile("HEAD:model.onnx"), whole.str().substr(0, size));
    EXPECT_EQ(readModel().error().code, Code::kDataLoss) << size;
  }
  write(looseFile("HEAD:model.onnx"), "no zlib");
  EXPECT_EQ(readModel().error().code, Code::kDataLoss);
}

TEST_F(LocalRepository, CommitsAndTreesAreBoundedByTheirHeaders) {
  for (const char* revision : {"HEAD", "HEAD^{tree}"}) {
    const std::string path = looseFile(revision);
    std::filesystem::rename(path, path + ".kept");
    const std::string type = revision == std::string("HEAD") ? "commit" : "tree";
    write(path, compressed(type + " 1200000000" + '\0'));
    EXPECT_EQ(readModel().error().code, Code::kOutOfRange);
    std::filesystem::rename(path + ".kept", path);
  }
}

TEST_F(LocalRepository, ATruncatedPackIsDataLoss) {
  git_.git("gc -q");
  for (const auto& entry : std::filesystem::directory_iterator(git_.directory() + "/.git/objects/pack"))
    if (entry.path().extension() == ".pack") {
      std::filesystem::permissions(entry.path(), std::filesystem::perms(0600));
      std::filesystem::resize_file(entry.path(), 40);
    }
  const auto model = readModel();
  ASSERT_FALSE(model);
  EXPECT_TRUE(model.error().code == Code::kDataLoss || model.error().code == Code::kNotFound)
      << model.error().message;
}

// Opening one waits for whoever writes to it.
TEST_F(LocalRepository, AFifoInThePlaceOfAFileIsRefused) {
  const std::string git = git_.directory() + "/.git/";
  for (const std::string& name :
       {git + "config", git + "HEAD", git + "packed-refs", git + "commondir", git + "shallow",
        git + "info/grafts", git + "refs/heads/main", git + "objects/info/alternates",
        git + "objects/pack/pack-1.idx", looseFile("HEAD"), looseFile("HEAD:model.onnx")}) {
    const bool there = std::filesystem::exists(name);
    if (there) std::filesystem::rename(name, git_.directory() + "/kept");
    ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0) << name;
    const auto model = readModel();
    ASSERT_FALSE(model) << name;
    EXPECT_EQ(model.error().code, Code::kDataLoss) << model.error().message;
    EXPECT_NE(model.error().message.find(name), std::string::npos) << model.error().message;
    std::filesystem::remove(name);
    if (there) std::filesystem::rename(git_.directory() + "/kept", name);
  }
  EXPECT_TRUE(readModel());
}

TEST_F(LocalRepository, NothingOutsideItIsRead) {
  git_.git("clone -q --shared . ../borrower");
  const std::string parent = std::filesystem::path(git_.directory()).parent_path();
  const auto borrowed = readModel(parent + "/borrower");
  ASSERT_FALSE(borrowed);
  EXPECT_EQ(borrowed.error().code, Code::kUnimplemented);
  EXPECT_NE(borrowed.error().message.find("git repack -a -d"), std::string::npos);
  const std::string config = git_.directory() + "/.git/config";
  for (const char* include : {"\n[include]\n\tpath = /dev/zero\n", "[core][INCLUDE]\npath=x\n",
                              "[includeIf \"gitdir:/\"]\npath=x\n"}) {
    std::filesystem::copy_file(config, config + ".kept");
    std::ofstream(config, std::ios::app) << include;
    const auto model = readModel();
    ASSERT_FALSE(model) << include;
    EXPECT_EQ(model.error().code, Code::kDataLoss) << model.error().message;
    std::filesystem::rename(config + ".kept", config);
  }
  EXPECT_TRUE(readModel());
}

TEST_F(LocalRepository, AForeignOwnerIsExplained) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a repository away";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(git_.directory()))
    ASSERT_EQ(::lchown(entry.path().c_str(), 12345, 12345), 0);
  ASSERT_EQ(::lchown(git_.directory().c_str(), 12345, 12345), 0);
  auto opened = CommitTree::openLocal(git_.directory(), commit_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kPermissionDenied);
  EXPECT_NE(opened.error().message.find("git config --global --add safe.directory " + git_.directory()),
            std::string::npos)
      << opened.error().message;
}

TEST_F(LocalRepository, ListsAFolderAndFollowsNothingOutOfIt) {
  git_.git("rm -q --cached link.onnx linked");
  git_.add("dir/b/c", "x");
  const std::string plain = git_.commit();
  const CommitTree tree = CommitTree::openLocal(git_.directory(), plain).value();
  const auto top = tree.list(".", 10).value();
  ASSERT_TRUE(top);
  EXPECT_EQ(top->files, std::vector<std::string>{"model.onnx"});
  EXPECT_EQ(top->folders, std::vector<std::string>{"dir"});
  const auto below = tree.list("dir", 10).value();
  EXPECT_EQ(below->files, std::vector<std::string>{"weights.bin"});
  EXPECT_EQ(below->folders, std::vector<std::string>{"b"});
  EXPECT_FALSE(tree.list("model.onnx", 10).value()) << "a file";
  EXPECT_EQ(tree.list("dir", 1).error().code, Code::kResourceExhausted);
  EXPECT_EQ(tree.list("none", 10).error().code, Code::kNotFound);
  for (const char* path : {"", "..", "dir/..", "/", "dir/", "./dir"})
    EXPECT_EQ(tree.list(path, 10).error().code, Code::kInvalidArgument) << path;
  // With links in it, as they are in the first commit.
  const CommitTree links = CommitTree::openLocal(git_.directory(), commit_).value();
  EXPECT_EQ(links.list(".", 10).error().message,
            "'link.onnx' in the repository is a symbolic link, which is not followed; name a regular file");
  EXPECT_TRUE(links.list("dir", 10));
  EXPECT_EQ(links.list("linked", 10).error().code, Code::kInvalidArgument);
}

// Trees that git itself would not write.
TEST_F(LocalRepository, NamesThatNoFileHasAreRefusedInAListing) {
  const std::string blob = git_.git("hash-object -w model.onnx");
  const auto listing = [&](const std::vector<std::string>& names) {
    std::string raw;
    for (const std::string& name : names) {
      raw += "100644 " + name + std::string(1, '\0');
      for (std::size_t i = 0; i < blob.size(); i += 2)
        raw += static_cast<char>(std::stoi(blob.substr(i, 2), nullptr, 16));
    }
    write(git_.directory() + "/raw", raw);
    const std::string tree = git_.git("hash-object -w --literally -t tree raw");
    const std::string commit = git_.git("commit-tree -m x " + tree);
    return CommitTree::openLocal(git_.directory(), commit).value().list(".", 10);
  };
  EXPECT_TRUE(listing({"a", "b"}));
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{".."}, {"."}, {"a/b"}, {"a\nb"}, {"a", "a"}})
    EXPECT_EQ(listing(names).error().code, Code::kDataLoss) << names[0];
}

}  // namespace
}  // namespace kiln::source
