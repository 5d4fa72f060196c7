// Plans from messages alone: what is served of REAPI, and what is refused and how it is called.
#include "worker/executor/action_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::executor {
namespace {

using testing::HasSubstr;
using Wanted = PlannedOutput::Wanted;

class ActionPlanTest : public testing::Test {
 protected:
  ActionPlanTest() {
    *action_.mutable_input_root_digest() = toProto(digestOf("root"));
    command_.add_arguments("tool");
  }
  Result<ActionPlan> plan(Profile profile = Profile::kForeign) const {
    return planAction(action_, command_, profile, leased_);
  }
  std::string refusal(Profile profile = Profile::kForeign) const {
    const auto made = plan(profile);
    if (made) return "none";
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    return made.error().message;
  }
  // The outputs as "path=in root:wanted".
  std::string outputs() const {
    const auto made = plan();
    if (!made) return made.error().message;
    std::string text;
    for (const PlannedOutput& output : made->outputs)
      text += output.path + "=" + output.inRoot + ":" + std::to_string(static_cast<int>(output.wanted)) + " ";
    return text;
  }
  void setRoot(const std::string& value, reapi::Platform* platform) {
    auto* property = platform->add_properties();
    property->set_name("kiln-root");
    property->set_value(value);
  }

  reapi::Action action_;
  reapi::Command command_;
  std::optional<Digest> leased_;
};

TEST_F(ActionPlanTest, ATimeoutStaysWithinBounds) {
  action_.mutable_timeout()->set_seconds(7);
  action_.mutable_timeout()->set_nanos(500'000'000);
  EXPECT_EQ(plan()->timeout, std::chrono::milliseconds(7500));
  action_.mutable_timeout()->set_seconds(INT64_MAX);
  action_.mutable_timeout()->set_nanos(INT32_MAX);
  EXPECT_GT(plan()->timeout, std::chrono::hours(24));
  action_.mutable_timeout()->set_seconds(INT64_MIN);
  action_.mutable_timeout()->set_nanos(-1);
  EXPECT_EQ(plan()->timeout, Duration::zero());
}

TEST_F(ActionPlanTest, OutputPathsOfAnyKindLieBelowTheWorkingDirectory) {
  command_.add_output_paths("out/a.o");
  command_.add_output_paths("b");
  EXPECT_EQ(outputs(), "out/a.o=out/a.o:0 b=b:0 ");
  command_.set_working_directory("src/lib");
  EXPECT_EQ(outputs(), "out/a.o=src/lib/out/a.o:0 b=src/lib/b:0 ");
  command_.add_output_files("ignored");
  command_.add_output_directories("ignored too");
  EXPECT_EQ(outputs(), "out/a.o=src/lib/out/a.o:0 b=src/lib/b:0 ") << "the newer form counts alone";
  command_.clear_output_paths();
  EXPECT_EQ(outputs(), "ignored=src/lib/ignored:1 ignored too=src/lib/ignored too:2 ");
  command_.add_output_directories("");
  EXPECT_THAT(outputs(), HasSubstr(" =src/lib:2 "));
}

TEST_F(ActionPlanTest, PathsThatLeaveTheInputRootAreRefused) {
  for (const char* path : {"../x", "a/../../x", "/etc/passwd", "a//b", "a/", "./a", "a\\b", "new\nline"}) {
    command_.set_working_directory("");
    command_.clear_output_paths();
    command_.add_output_paths(path);
    EXPECT_THAT(refusal(), HasSubstr("command: the output path ")) << path;
    command_.clear_output_paths();
    command_.set_working_directory(path);
    EXPECT_THAT(refusal(), HasSubstr("command: the working directory ")) << path;
  }
  std::string deep;
  for (int i = 0; i < 64; ++i) deep += "d/";
  command_.set_working_directory(deep.substr(0, deep.size() - 1));
  EXPECT_EQ(refusal(), "none");
  command_.set_working_directory(deep + "d");
  EXPECT_THAT(refusal(), HasSubstr("deeper than 64 directories"));
}

TEST_F(ActionPlanTest, OutputsAreBoundedAndEachIsThereOnce) {
  command_.add_output_files("a");
  command_.add_output_directories("a");
  EXPECT_EQ(refusal(), "command: the output path \"a\" is there twice");
  command_.clear_output_directories();
  command_.add_output_files("");
  EXPECT_EQ(refusal(), "command: an output file without a name");
  for (int i = 0; i < 4096; ++i) command_.add_output_paths(std::to_string(i));
  EXPECT_EQ(refusal(), "none");
  command_.add_output_paths("one more");
  EXPECT_EQ(refusal(), "command: more than 4096 output paths");
}

TEST_F(ActionPlanTest, ArgumentsAndEnvironmentAreAsGiven) {
  auto* variable = command_.add_environment_variables();
  variable->set_name("Z");
  variable->set_value("1");
  variable = command_.add_environment_variables();
  variable->set_name("A");
  variable->set_value("a=b");
  const auto made = plan();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->environment, (std::vector<std::pair<std::string, std::string>>{{"Z", "1"}, {"A", "a=b"}}));
  variable->set_name("Z");
  EXPECT_EQ(refusal(), "command: the environment variable Z is there twice");
  for (const std::string& bad : {std::string(), std::string("a=b"), std::string("a\0b", 3)}) {
    variable->set_name(bad);
    EXPECT_EQ(refusal(), "command: a malformed environment variable");
  }
  command_.clear_environment_variables();
  command_.add_arguments(std::string("a\0b", 3));
  EXPECT_EQ(refusal(), "command: a NUL in an argument");
  command_.clear_arguments();
  EXPECT_EQ(refusal(), "command: no arguments");
}

TEST_F(ActionPlanTest, TheRootTreeIsWhatActionAndLeaseAgreeOn) {
  const Digest tree = digestOf("tree"), other = digestOf("other");
  const std::string stated = tree.text() + "/" + std::to_string(tree.size);
  EXPECT_FALSE(plan()->root);
  setRoot(stated, command_.mutable_platform());
  EXPECT_EQ(plan()->root, tree);
  leased_ = tree;
  EXPECT_EQ(plan()->root, tree);
  leased_ = other;
  EXPECT_EQ(refusal(), "action: the lease names another root tree than the action");
  // The Action's platform stands for the Command's, though it says nothing of a root.
  action_.mutable_platform();
  EXPECT_EQ(refusal(), "action: the lease names a root tree, the action none");
  leased_.reset();
  EXPECT_FALSE(plan()->root);
  setRoot("kiln-0.1.0+llvm22", action_.mutable_platform());
  EXPECT_THAT(refusal(), HasSubstr("kiln-root \"kiln-0.1.0+llvm22\" is no tree"));
  leased_ = other;
  EXPECT_EQ(plan()->root, other) << "a label that the coordinator resolved";
  leased_.reset();
  for (const std::string& bad :
       {tree.text(), stated + "x", tree.text() + "/-1", tree.text() + "/", tree.hex() + "/4",
        std::string("sha256:/4"), std::string("sha256:xyz/4"), tree.text() + "/99999999999999999999"}) {
    action_.mutable_platform()->mutable_properties(0)->set_value(bad);
    EXPECT_THAT(refusal(), HasSubstr("is no tree (sha256:HEX/SIZE)")) << bad;
  }
}

TEST_F(ActionPlanTest, ACompilersActionIsTheStrictOne) {
  command_.add_output_paths("output");
  const auto made = plan(Profile::kCompiler);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->cached, "toolchain");
  ASSERT_EQ(made->outputs.size(), 1u);
  EXPECT_EQ(made->outputs[0].wanted, Wanted::kDirectory);
  command_.add_output_paths("second");
  EXPECT_EQ(refusal(Profile::kCompiler), "command: exactly one output path is served");
  EXPECT_EQ(refusal(), "none");
  command_.clear_output_paths();
  command_.add_output_directories("output");
  EXPECT_EQ(refusal(Profile::kCompiler), "command: exactly one output path is served");
  command_.add_output_paths("a/b");
  EXPECT_EQ(refusal(Profile::kCompiler), "command: the output path must be one plain directory name");
  command_.set_output_paths(0, "output");
  command_.set_working_directory("sub");
  EXPECT_EQ(refusal(Profile::kCompiler), "command: a working directory other than the root is not served");
  command_.clear_working_directory();
  for (const char* name : {"B", "A"}) command_.add_environment_variables()->set_name(name);
  EXPECT_EQ(refusal(Profile::kCompiler), "command: environment variables are not sorted");
}

TEST_F(ActionPlanTest, TheDirectoryFormatIsOneOfREAPIs) {
  command_.set_output_directory_format(reapi::Command::TREE_AND_DIRECTORY);
  EXPECT_EQ(plan()->directories, reapi::Command::TREE_AND_DIRECTORY);
  command_.set_output_directory_format(static_cast<reapi::Command::OutputDirectoryFormat>(7));
  EXPECT_EQ(refusal(), "command: an output directory format that nobody knows");
}

}  // namespace
}  // namespace kiln::executor
