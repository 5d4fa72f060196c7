// What a worker may say that a foreign action left, and how its execution ends.
#include "coordinator/jobs/executed_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/jobs/execution_step.h"

namespace kiln::jobs {
namespace {

using ::testing::HasSubstr;

reapi::ActionResult withFile(const std::string& path) {
  reapi::ActionResult out;
  auto& file = *out.add_output_files();
  file.set_path(path);
  *file.mutable_digest() = toProto(digestOf(path));
  return out;
}

reapi::Command leaving(const std::string& path) {
  reapi::Command out;
  out.add_arguments("x");
  out.add_output_paths(path);
  return out;
}

TEST(ExecutedOutputs, FilesTreesAndLinksAreNamedByPath) {
  reapi::ActionResult result = withFile("m/a.o");
  auto& directory = *result.add_output_directories();
  directory.set_path("gen");
  *directory.mutable_tree_digest() = toProto(digestOf(std::string_view("tree")));
  auto& link = *result.add_output_symlinks();
  link.set_path("z");
  link.set_target("gen/one");
  const auto read = readExecuted(result);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->named.files.size(), 3u);
  EXPECT_EQ(read->named.files[0].path, "gen");
  EXPECT_EQ(read->named.files[1].path, "m/a.o");
  EXPECT_EQ(read->named.files[2].digest, digestOf(std::string_view("gen/one")));
  EXPECT_EQ(read->blobs.size(), 2u) << "a link is no blob";
}

TEST(ExecutedOutputs, BadPathsAndRepeatedOnesAreRefused) {
  for (const char* path : {"/abs", "../up", "a//b", ""}) EXPECT_FALSE(readExecuted(withFile(path))) << path;
  reapi::ActionResult twice = withFile("a");
  *twice.add_output_files() = twice.output_files(0);
  EXPECT_THAT(readExecuted(twice).error().message, HasSubstr("twice"));
  reapi::ActionResult inlined = withFile("a");
  inlined.mutable_output_files(0)->set_contents("bytes");
  EXPECT_FALSE(readExecuted(inlined));
  reapi::ActionResult log;
  log.set_stdout_raw(std::string(kMaxInlineLog + 1, 'x'));
  EXPECT_FALSE(readExecuted(log));
}

// Which digests a directory has is what the command asked for; its name is the Tree where there is one.
TEST(ExecutedOutputs, DirectoriesComeInTheFormAskedFor) {
  const Digest tree = digestOf(std::string_view("tree")), root = digestOf(std::string_view("root"));
  const auto left = [&](bool withTree, bool withRoot) {
    reapi::ActionResult out;
    auto& directory = *out.add_output_directories();
    directory.set_path("gen");
    if (withTree) *directory.mutable_tree_digest() = toProto(tree);
    if (withRoot) *directory.mutable_root_directory_digest() = toProto(root);
    return out;
  };
  using Command = reapi::Command;
  for (const auto& [format, withTree, withRoot] : {std::tuple{Command::TREE_ONLY, true, false},
                                                   {Command::DIRECTORY_ONLY, false, true},
                                                   {Command::TREE_AND_DIRECTORY, true, true}}) {
    Command command = leaving("gen");
    command.set_output_directory_format(format);
    for (const auto& [hasTree, hasRoot] : {std::pair{true, false}, {false, true}, {true, true}})
      EXPECT_EQ(bool(checkDeclared(left(hasTree, hasRoot), command)),
                hasTree == withTree && hasRoot == withRoot)
          << format << hasTree << hasRoot;
    const auto read = readExecuted(left(withTree, withRoot));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->named.files.front().digest, withTree ? tree : root) << format;
    EXPECT_EQ(read->directories.front().tree.has_value(), withTree);
    EXPECT_EQ(read->directories.front().root.has_value(), withRoot);
  }
  EXPECT_FALSE(readExecuted(left(false, false)));
}

TEST(ExecutedOutputs, OnlyWhatTheCommandDeclaresCounts) {
  EXPECT_TRUE(checkDeclared(withFile("a.o"), leaving("a.o")));
  EXPECT_THAT(checkDeclared(withFile("b.o"), leaving("a.o")).error().message, HasSubstr("\"b.o\""));
  reapi::ActionResult link;
  link.add_output_symlinks()->set_path("a.o");
  link.mutable_output_symlinks(0)->set_target("../../etc/passwd");
  EXPECT_FALSE(checkDeclared(link, leaving("a.o"))) << "it leads out of the input root";
  link.mutable_output_symlinks(0)->set_target("/etc/passwd");
  EXPECT_FALSE(checkDeclared(link, leaving("a.o")));
}

Result<TreeContent> contentOf(const std::string& bytes) {
  WalkedTrees walked;
  return contentOfTree(bytes, walked);
}

TEST(ExecutedTree, HoldsExactlyTheDirectoriesThatItNames) {
  reapi::Directory below;
  auto& file = *below.add_files();
  file.set_name("f");
  *file.mutable_digest() = toProto(digestOf(std::string_view("f")));
  reapi::Tree tree;
  auto& node = *tree.mutable_root()->add_directories();
  node.set_name("d");
  *node.mutable_digest() = toProto(digestOf(below.SerializeAsString()));
  EXPECT_THAT(contentOf(tree.SerializeAsString()).error().message, HasSubstr("lacks"));
  *tree.add_children() = below;
  const auto files = contentOf(tree.SerializeAsString());
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->root, digestOf(tree.root().SerializeAsString()));
  EXPECT_THAT(files->files, ::testing::ElementsAre(digestOf(std::string_view("f"))));
  tree.add_children();
  EXPECT_THAT(contentOf(tree.SerializeAsString()).error().message, HasSubstr("not in it"));
  EXPECT_FALSE(contentOf("\xff"));
}

// A Directory for each level, each named twice by the one above it; `heavy` bytes of properties in the last.
reapi::Tree doubling(int levels, std::size_t heavy) {
  reapi::Tree tree;
  reapi::Directory below;
  if (heavy > 0) below.mutable_node_properties()->add_properties()->set_value(std::string(heavy, 'x'));
  for (int level = 0; level < levels; ++level) {
    const std::string bytes = below.SerializeAsString();
    *tree.add_children() = below;
    below.Clear();
    for (const char* name : {"a", "b"}) {
      auto& node = *below.add_directories();
      node.set_name(name);
      *node.mutable_digest() = toProto(digestOf(bytes));
    }
  }
  *tree.mutable_root() = below;
  return tree;
}

TEST(ExecutedTree, IsBoundedByWhatItNamesNotByWhatItIs) {
  const auto refusal = [](const reapi::Tree& tree) {
    const auto files = contentOf(tree.SerializeAsString());
    return files ? std::string() : files.error().message;
  };
  EXPECT_EQ(refusal(doubling(10, 1000)), "");
  EXPECT_THAT(refusal(doubling(17, 0)), HasSubstr("100,000 entries"));
  EXPECT_THAT(refusal(doubling(10, 1 << 20)), HasSubstr("128 MiB of directories"));
  reapi::Tree deep;
  std::string bytes;
  for (int level = 0; level < 66; ++level) {
    reapi::Directory one;
    if (level > 0) {
      one.add_directories()->set_name("d");
      *one.mutable_directories(0)->mutable_digest() = toProto(digestOf(bytes));
      *deep.add_children() = *deep.mutable_root();
    }
    bytes = one.SerializeAsString();
    *deep.mutable_root() = one;
  }
  EXPECT_THAT(refusal(deep), HasSubstr("deeper than 64"));
  reapi::Tree large;
  large.mutable_root()->mutable_node_properties()->add_properties()->set_value(std::string(17 << 20, 'x'));
  EXPECT_THAT(refusal(large), HasSubstr("16 MiB"));
}

TEST(ExecutedTree, SeveralOfOneResultHaveOneBudget) {
  const std::string tree = doubling(15, 0).SerializeAsString();
  WalkedTrees walked;
  EXPECT_TRUE(contentOfTree(tree, walked));
  EXPECT_THAT(contentOfTree(tree, walked).error().message, HasSubstr("100,000 entries"));
  const std::string heavy = doubling(6, 1 << 20).SerializeAsString();
  WalkedTrees bytes;
  EXPECT_TRUE(contentOfTree(heavy, bytes));
  EXPECT_THAT(contentOfTree(heavy, bytes).error().message, HasSubstr("128 MiB"));
}

// A Directory is read once, but what its links may say depends on where it stands.
TEST(ExecutedTree, LinksStayInsideWhereverTheirDirectoryStands) {
  reapi::Tree tree;
  reapi::Directory& shared = *tree.add_children();
  shared.add_symlinks()->set_name("up");
  shared.mutable_symlinks(0)->set_target("../../x");
  const auto name = [](reapi::Directory& in, const char* as, const reapi::Directory& what) {
    auto& node = *in.add_directories();
    node.set_name(as);
    *node.mutable_digest() = toProto(digestOf(what.SerializeAsString()));
  };
  reapi::Directory between;
  name(between, "b", tree.children(0));
  name(*tree.mutable_root(), "a", between);
  *tree.add_children() = between;
  EXPECT_TRUE(contentOf(tree.SerializeAsString()));
  name(*tree.mutable_root(), "c", tree.children(0));
  EXPECT_THAT(contentOf(tree.SerializeAsString()).error().message, HasSubstr("leaves the tree"));
}

TEST(ExecutedOutputs, IsBounded) {
  reapi::ActionResult many;
  for (int i = 0; i <= 20'000; ++i) {
    auto& link = *many.add_output_symlinks();
    link.set_path(std::to_string(i));
    link.set_target("x");
  }
  EXPECT_THAT(readExecuted(many).error().message, HasSubstr("more than 20000 outputs"));
  reapi::ActionResult large;
  for (int i = 0; i < 1100; ++i) {
    auto& link = *large.add_output_symlinks();
    link.set_path(std::to_string(i));
    link.set_target(std::string(4000, 'x'));
  }
  EXPECT_THAT(readExecuted(large).error().message, HasSubstr("more than 4 MiB"));
}

index::JobSnapshot execution() {
  index::JobSnapshot out;
  out.job.key = {"default", "j"};
  out.job.execution = index::ExecutionRecord{digestOf(std::string_view("a")), true, TimePoint{}};
  out.actions.push_back({index::ActionKind::kExecute, "", digestOf(std::string_view("salted")), {}});
  return out;
}

index::RunRecord runOf(const index::JobSnapshot& snapshot, index::RunState state, Code error = Code{}) {
  index::RunRecord run;
  run.action = snapshot.actions.front().action;
  run.kind = index::ActionKind::kExecute;
  run.state = state;
  run.errorCode = static_cast<int>(error);
  run.errorMessage = "why";
  return run;
}

TEST(ExecutionStep, AnyExitCodeIsAResultAndNobodyConfirmsIt) {
  index::JobSnapshot job = execution();
  EXPECT_TRUE(std::holds_alternative<QueueRuns>(nextStep(job, {})));
  job.runs.push_back(runOf(job, index::RunState::kQueued));
  EXPECT_TRUE(std::holds_alternative<Wait>(nextStep(job, {})));
  job.runs.front().state = index::RunState::kDone;
  job.results.emplace_back();
  job.results.front().exitCode = 3;
  const Step step = nextStep(job, {});
  ASSERT_TRUE(std::holds_alternative<End>(step));
  EXPECT_EQ(std::get<End>(step).state, index::JobState::kSucceeded);
}

TEST(ExecutionStep, ATimeLimitIsNotTriedAgainButALostWorkerIs) {
  index::JobSnapshot job = execution();
  job.runs.push_back(runOf(job, index::RunState::kQueued, Code::kUnavailable));
  EXPECT_TRUE(std::holds_alternative<Wait>(nextStep(job, {}))) << "the queue gives it to another";
  job.runs.front().errorCode = static_cast<int>(Code::kDeadlineExceeded);
  const Step step = nextStep(job, {});
  ASSERT_TRUE(std::holds_alternative<End>(step));
  EXPECT_EQ(std::get<End>(step).error->code, static_cast<int>(Code::kDeadlineExceeded));
}

TEST(ExecutionStep, WhatNobodyWaitsForEndsQueuedOrBegun) {
  index::JobSnapshot job = execution();
  job.runs.push_back(runOf(job, index::RunState::kQueued));
  EXPECT_FALSE(unwatched(job, TimePoint{} + kUnwatchedFor - std::chrono::seconds(1)));
  const auto end = unwatched(job, TimePoint{} + kUnwatchedFor);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->state, index::JobState::kCancelled);
  job.runs.front().state = index::RunState::kLeased;
  EXPECT_TRUE(unwatched(job, TimePoint{} + kUnwatchedFor));
  job.job.state = index::JobState::kSucceeded;
  EXPECT_FALSE(unwatched(job, TimePoint{} + kUnwatchedFor));
  job.job.state = index::JobState::kQueued;
  job.job.execution.reset();
  EXPECT_FALSE(unwatched(job, TimePoint{} + kUnwatchedFor)) << "a build is nobody's stream";
}

}  // namespace
}  // namespace kiln::jobs
