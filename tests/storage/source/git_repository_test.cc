#include "storage/source/git_repository.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

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
    git_.add("big.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, '1') +
                             "\nsize 12345\n");
    commit_ = git_.commit();
  }
  std::string error(const std::string& path) {
    auto read = CommitTree::openLocal(git_.directory(), commit_).value().read(path, 1 << 20);
    return read ? "no error" : read.error().message;
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
  EXPECT_NE(error("big.onnx").find("'big.onnx' is a Git LFS pointer"), std::string::npos);
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

}  // namespace
}  // namespace kiln::source
