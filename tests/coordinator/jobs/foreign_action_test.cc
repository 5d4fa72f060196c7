// What of a client's action is served, and what of it runs.
#include "coordinator/jobs/foreign_action.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::jobs {
namespace {

using ::testing::HasSubstr;

reapi::Action action() {
  reapi::Action out;
  *out.mutable_command_digest() = toProto(digestOf(std::string_view("command")));
  *out.mutable_input_root_digest() = toProto(digestOf(std::string_view("root")));
  return out;
}

reapi::Command command() {
  reapi::Command out;
  out.add_arguments("bin/tool");
  return out;
}

void addProperty(reapi::Platform& platform, const std::string& name, const std::string& value) {
  auto& property = *platform.add_properties();
  property.set_name(name);
  property.set_value(value);
}

Error refusal(const reapi::Command& command, const reapi::Action& action = jobs::action()) {
  const auto read = readForeignCommand(command.SerializeAsString(), action);
  return read ? Error{Code::kUnknown, "it was taken", {}} : read.error();
}

TEST(ForeignAction, ATimeoutIsTakenRoundedUpAndBounded) {
  reapi::Action one = action();
  EXPECT_EQ(readForeignAction(one.SerializeAsString())->timeLimitSeconds, kForeignSeconds);
  one.mutable_timeout()->set_seconds(7);
  one.mutable_timeout()->set_nanos(1);
  EXPECT_EQ(readForeignAction(one.SerializeAsString())->timeLimitSeconds, 8u);
  one.mutable_timeout()->set_seconds(kMaxForeignSeconds);
  EXPECT_THAT(readForeignAction(one.SerializeAsString()).error().message, HasSubstr("action.timeout"));
  one.mutable_timeout()->set_nanos(0);
  EXPECT_EQ(readForeignAction(one.SerializeAsString())->timeLimitSeconds, kMaxForeignSeconds);
  struct Bad {
    std::int64_t seconds;
    std::int32_t nanos;
  };
  for (const Bad& bad : {Bad{-1, 0}, Bad{0, -1}, Bad{1, 1'000'000'000}, Bad{kMaxForeignSeconds + 1, 0},
                         Bad{1LL << 32, 0}, Bad{INT64_MAX, 0}, Bad{INT64_MAX, 1}, Bad{INT64_MIN, 1}}) {
    one.mutable_timeout()->set_seconds(bad.seconds);
    one.mutable_timeout()->set_nanos(bad.nanos);
    const auto read = readForeignAction(one.SerializeAsString());
    ASSERT_FALSE(read) << bad.seconds << " " << bad.nanos << ": " << read->timeLimitSeconds;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
  }
}

TEST(ForeignAction, WhatIsNoneIsRefusedByField) {
  EXPECT_THAT(readForeignAction("\xff").error().message, HasSubstr("names no Action"));
  reapi::Action one = action();
  one.mutable_command_digest()->set_hash("da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_THAT(readForeignAction(one.SerializeAsString()).error().message, HasSubstr("command_digest"));
}

// Promise: nothing that is known of a build's action is known of an executed one.
TEST(ForeignAction, WhatRunsHasADigestThatNoActionOfABuildHas) {
  reapi::Action build = action();
  const std::string salted = saltedAction(build);
  EXPECT_NE(digestOf(salted), digestOf(build.SerializeAsString()));
  reapi::Action read;
  ASSERT_TRUE(read.ParseFromString(salted));
  EXPECT_FALSE(read.salt().empty()) << "and Kiln's own have none";
  // A client that sends a salted one gets another one still.
  EXPECT_NE(digestOf(saltedAction(read)), digestOf(salted));
  reapi::Action withSalt = build;
  withSalt.set_salt("x");
  EXPECT_NE(digestOf(saltedAction(withSalt)), digestOf(salted)) << "the client's own salt still counts";
}

TEST(ForeignCommand, FormsThatAreNotServedAreRefusedByField) {
  EXPECT_THAT(refusal(reapi::Command()).message, HasSubstr("command.arguments"));
  reapi::Command one = command();
  one.add_arguments(std::string("a\0b", 3));
  EXPECT_THAT(refusal(one).message, HasSubstr("NUL"));
  for (const char* path : {"/etc/passwd", "../x", "a/./b", ""}) {
    one = command();
    one.add_output_paths(path);
    EXPECT_THAT(refusal(one).message, HasSubstr("command.output_paths")) << path;
  }
  one = command();
  one.set_working_directory("..");
  EXPECT_THAT(refusal(one).message, HasSubstr("command.working_directory"));
  one = command();
  one.add_output_files("out");
  one.add_output_directories("out/more");
  EXPECT_THAT(refusal(one).message, HasSubstr("below another output"));
  one = command();
  one.set_output_directory_format(static_cast<reapi::Command::OutputDirectoryFormat>(7));
  EXPECT_THAT(refusal(one).message, HasSubstr("output_directory_format"));
  one = command();
  for (const char* name : {"B", "A"}) one.add_environment_variables()->set_name(name);
  EXPECT_THAT(refusal(one).message, HasSubstr("not sorted"));
}

TEST(ForeignCommand, EveryFormOfDirectoriesIsServed) {
  for (const auto format :
       {reapi::Command::TREE_ONLY, reapi::Command::DIRECTORY_ONLY, reapi::Command::TREE_AND_DIRECTORY}) {
    reapi::Command one = command();
    one.set_output_directory_format(format);
    EXPECT_EQ(refusal(one).message, "it was taken") << format;
  }
}

TEST(ForeignCommand, CountsAndNamesAreBounded) {
  reapi::Command one = command();
  for (int i = 0; i <= 10'000; ++i) one.add_output_paths(std::to_string(i));
  EXPECT_THAT(refusal(one).message, HasSubstr("more than 10000"));
  one = command();
  one.add_output_paths(std::string(1025, 'a'));
  EXPECT_THAT(refusal(one).message, HasSubstr("command.output_paths"));
  one = command();
  for (const char* path : {"a", "a"}) one.add_output_paths(path);
  EXPECT_THAT(refusal(one).message, HasSubstr("twice"));
  for (const std::string& name : {std::string(), std::string("A=B"), std::string("A\0", 2)}) {
    one = command();
    one.add_environment_variables()->set_name(name);
    EXPECT_THAT(refusal(one).message, HasSubstr("environment_variables"));
  }
  one = command();
  for (int i = 0; i < 2; ++i) one.add_environment_variables()->set_name("A");
  EXPECT_THAT(refusal(one).message, HasSubstr("name one twice"));
  one = command();
  one.set_arguments(0, "");
  EXPECT_THAT(refusal(one).message, HasSubstr("no program"));
  one = command();
  for (int i = 0; i < 2; ++i) addProperty(*one.mutable_platform(), "kiln-root", "gcc-12");
  EXPECT_THAT(refusal(one).message, HasSubstr("twice"));
}

TEST(ForeignCommand, BothFormsOfOutputsAreRead) {
  reapi::Command old = command();
  old.add_output_files("a.o");
  old.add_output_directories("gen");
  EXPECT_THAT(declaredOutputs(old), ::testing::ElementsAre("a.o", "gen"));
  old.add_output_paths("b.o");
  EXPECT_THAT(declaredOutputs(old), ::testing::ElementsAre("b.o")) << "from 2.1 the others are ignored";
}

TEST(ForeignPlatform, KnownPropertiesAreTakenAndOthersRefusedByName) {
  reapi::Command one = command();
  addProperty(*one.mutable_platform(), "OSFamily", "Linux");
  addProperty(*one.mutable_platform(), "Arch", "x86-64");
  addProperty(*one.mutable_platform(), "container-image", "none");
  EXPECT_TRUE(readForeignCommand(one.SerializeAsString(), action()));
  addProperty(*one.mutable_platform(), "gpu", "1");
  EXPECT_EQ(refusal(one).code, Code::kInvalidArgument);
  EXPECT_THAT(refusal(one).message, HasSubstr("\"gpu\""));
  one = command();
  addProperty(*one.mutable_platform(), "OSFamily", "windows");
  EXPECT_EQ(refusal(one).code, Code::kFailedPrecondition);
  EXPECT_THAT(refusal(one).message, HasSubstr("OSFamily=windows"));
}

TEST(ForeignPlatform, TheActionsOwnOneCounts) {
  reapi::Command one = command();
  addProperty(*one.mutable_platform(), "unknown", "x");
  reapi::Action newer = action();
  addProperty(*newer.mutable_platform(), "kiln-root", "gcc-12");
  const auto read = readForeignCommand(one.SerializeAsString(), newer);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->root);
  EXPECT_EQ(read->root->label, "gcc-12");
}

TEST(ForeignPlatform, ARootIsALabelOrATree) {
  const Digest tree{digestOf(std::string_view("tree")).hash, 77};
  const auto rootOf = [](const std::string& value) {
    reapi::Command one = command();
    addProperty(*one.mutable_platform(), "kiln-root", value);
    return readForeignCommand(one.SerializeAsString(), action());
  };
  const auto read = rootOf("sha256:" + tree.hex() + "/77");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->root->tree, tree);
  for (const std::string& bad :
       {std::string("sha256:12/3"), "sha256:" + tree.hex(), "sha256:" + tree.hex() + "/-1",
        "sha256:" + tree.hex() + "/0", "sha256:" + tree.hex() + "/99999999999999999999",
        "sha256:" + tree.hex() + "/3x", std::string(201, 'a'), std::string("a\nb"), std::string()})
    EXPECT_EQ(rootOf(bad).error().code, Code::kInvalidArgument) << bad;
}

TEST(ForeignPriority, SmallerGoesEarlierWithinBounds) {
  EXPECT_GT(queuePriority(-5), queuePriority(0));
  EXPECT_EQ(queuePriority(INT32_MIN), kMaxForeignPriority);
  EXPECT_EQ(queuePriority(INT32_MAX), -kMaxForeignPriority);
}

}  // namespace
}  // namespace kiln::jobs
