// What is taken of a worker's report about a foreign action.
#include "coordinator/drivers/executed_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/tree/directory.h"
#include "tests/support/memory_blob_store.h"

namespace kiln::service {
namespace {

using ::testing::HasSubstr;
using Command = reapi::Command;

class ExecutedDirectories : public ::testing::Test {
 protected:
  // gen/ with f and d/g, as Directories and as a Tree.
  ExecutedDirectories() {
    run_.instance = "default";
    addFile(below_, "g");
    addFile(root_, "f");
    auto& node = *root_.add_directories();
    node.set_name("d");
    *node.mutable_digest() = toProto(put(storage::serialiseDirectory(below_)));
  }
  Digest put(const std::string& bytes) { return *storage::putBlob(blobs_, "default", asBytes(bytes)); }
  void addFile(reapi::Directory& to, const std::string& name) {
    auto& file = *to.add_files();
    file.set_name(name);
    *file.mutable_digest() = toProto(put("bytes of " + name));
  }

  // The report of an action that wants `format`, with these of the directory's digests.
  Result<reapi::ActionResult> take(Command::OutputDirectoryFormat format, bool withTree, bool withRoot) {
    Command command;
    command.add_arguments("x");
    command.add_output_paths("gen");
    if (another_) command.add_output_paths("other");
    command.set_output_directory_format(format);
    reapi::Action action;
    *action.mutable_command_digest() = toProto(put(command.SerializeAsString()));
    *action.mutable_input_root_digest() = toProto(digestOf(""));
    run_.action = put(action.SerializeAsString());
    reapi::Tree tree;
    *tree.mutable_root() = treeRoot_.value_or(root_);
    *tree.add_children() = below_;
    reapi::ActionResult result;
    const auto add = [&](const char* path, const reapi::Directory& root) {
      auto& directory = *result.add_output_directories();
      directory.set_path(path);
      if (withTree) *directory.mutable_tree_digest() = toProto(put(tree.SerializeAsString()));
      if (withRoot) *directory.mutable_root_directory_digest() = toProto(put(root.SerializeAsString()));
    };
    add("gen", root_);
    if (another_) {
      *tree.mutable_root() = *another_;
      add("other", *another_);
    }
    return takeExecuted(blobs_, run_, {}, result);
  }

  testing_support::MemoryBlobStore blobs_;
  index::RunRecord run_;
  reapi::Directory below_, root_;
  std::optional<reapi::Directory> treeRoot_;  // in place of root_
  std::optional<reapi::Directory> another_;   // of a second output
};

TEST_F(ExecutedDirectories, AreKeptInTheFormThatWasAskedFor) {
  const auto tree = take(Command::TREE_ONLY, true, false);
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_FALSE(tree->output_directories(0).has_root_directory_digest());
  const auto root = take(Command::DIRECTORY_ONLY, false, true);
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_FALSE(root->output_directories(0).has_tree_digest());
  EXPECT_EQ(*fromProto(root->output_directories(0).root_directory_digest()),
            digestOf(root_.SerializeAsString()));
  const auto both = take(Command::TREE_AND_DIRECTORY, true, true);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_TRUE(both->output_directories(0).has_tree_digest());
  EXPECT_TRUE(both->output_directories(0).has_root_directory_digest());
  EXPECT_FALSE(take(Command::TREE_ONLY, true, true));
  EXPECT_FALSE(take(Command::DIRECTORY_ONLY, true, false));
  EXPECT_FALSE(take(Command::TREE_AND_DIRECTORY, false, true));
}

// Clients walk the Directories, so all of them must be there, and every file.
TEST_F(ExecutedDirectories, AreWholeOrNotTaken) {
  ASSERT_TRUE(take(Command::DIRECTORY_ONLY, false, true));
  for (const Digest& needed :
       {digestOf(below_.SerializeAsString()), digestOf("bytes of g"), digestOf("bytes of f")}) {
    const std::string bytes = *storage::getBlob(blobs_, "default", needed, 1 << 20);
    blobs_.forget("default", needed);
    EXPECT_EQ(take(Command::DIRECTORY_ONLY, false, true).error().code, Code::kNotFound);
    put(bytes);
  }
  blobs_.flipBit("default", digestOf("bytes of g"));
  EXPECT_EQ(take(Command::TREE_AND_DIRECTORY, true, true).error().code, Code::kDataLoss);
}

// A few blobs that a lying worker names over and over.
TEST_F(ExecutedDirectories, AllOfOneResultAreBoundedTogether) {
  below_.mutable_node_properties()->add_properties()->set_value(std::string(3'000'000, 'x'));
  root_.clear_directories();
  for (int i = 10; i < 40; ++i) {
    auto& node = *root_.add_directories();
    node.set_name(std::to_string(i));
    *node.mutable_digest() = toProto(put(below_.SerializeAsString()));
  }
  EXPECT_TRUE(take(Command::TREE_AND_DIRECTORY, true, true)) << "90 MB, in each form";
  another_ = root_;
  another_->mutable_directories(0)->set_name("0");
  EXPECT_EQ(take(Command::DIRECTORY_ONLY, false, true).error().code, Code::kOutOfRange);
  EXPECT_THAT(take(Command::TREE_ONLY, true, false).error().message, HasSubstr("128 MiB"));
  another_ = root_;
  EXPECT_TRUE(take(Command::TREE_AND_DIRECTORY, true, true)) << "the same one is read once";
}

TEST_F(ExecutedDirectories, BothFormsTellOfOneDirectory) {
  treeRoot_ = root_;
  treeRoot_->mutable_files(0)->set_is_executable(true);
  EXPECT_THAT(take(Command::TREE_AND_DIRECTORY, true, true).error().message,
              HasSubstr("not of one directory"));
  EXPECT_TRUE(take(Command::TREE_ONLY, true, false)) << "nothing contradicts it";
}

TEST_F(ExecutedDirectories, ThatAreNoneAreRefused) {
  auto& twice = *root_.add_files();
  twice = root_.files(0);
  EXPECT_EQ(take(Command::DIRECTORY_ONLY, false, true).error().code, Code::kInvalidArgument);
  root_.mutable_files()->RemoveLast();
  auto& link = *root_.add_symlinks();
  link.set_name("link");
  link.set_target("../../etc/passwd");
  EXPECT_EQ(take(Command::DIRECTORY_ONLY, false, true).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::service
