#include "coordinator/jobs/action_builder.h"

#include <gtest/gtest.h>

#include "manifest/spec/target.h"
#include "storage/tree/digest_proto.h"

namespace kiln::jobs {
namespace {

CompileSpec spec() {
  CompileSpec out;
  out.files = {{"model.onnx", digestOf(std::string_view("model"))},
               {"data/weights.bin", digestOf(std::string_view("weights"))}};
  out.toolchainDigest = digestOf(std::string_view("toolchain directory"));
  out.target = "cpu:x86-64-v3";
  out.features = parseTarget(out.target)->features;
  out.profiles = {{"default", {}}};
  return out;
}

std::string bytesOf(const BuiltAction& built, const Digest& digest) {
  for (const storage::UploadItem& item : built.blobs)
    if (item.digest == digest) return item.bytes;
  ADD_FAILURE() << "the action lacks a blob";
  return {};
}

template <class T>
T parse(const BuiltAction& built, const Digest& digest) {
  T message;
  EXPECT_TRUE(message.ParseFromString(bytesOf(built, digest)));
  return message;
}

TEST(ActionBuilder, AnEmulationIsTheSameCompileWithASecondOutput) {
  auto compile = buildAction(index::ActionKind::kCompile, spec());
  auto built = buildAction(index::ActionKind::kEmulate, spec());
  ASSERT_TRUE(built) << built.error().message;
  auto action = parse<reapi::Action>(*built, built->action);
  EXPECT_EQ(action.input_root_digest().hash(),
            parse<reapi::Action>(*compile, compile->action).input_root_digest().hash());
  auto command = parse<reapi::Command>(*built, *fromProto(action.command_digest()));
  std::vector<std::string> arguments(command.arguments().begin(), command.arguments().end());
  EXPECT_EQ(arguments, (std::vector<std::string>{"toolchain/bin/kiln-cc", "compile", "--model",
                                                 "input/model.onnx", "--spec", "input/spec.json", "--out",
                                                 "output/artifact", "--emulation", "output/emulation"}));
  ASSERT_EQ(command.output_paths_size(), 1);
  EXPECT_EQ(command.output_paths(0), "output");
}

TEST(ActionBuilder, TheIrComesFromTheSameCompileWithASecondOutput) {
  CompileSpec tuned = spec();
  tuned.tuning = digestOf("entries");
  auto compile = buildAction(index::ActionKind::kCompile, tuned);
  auto built = buildAction(index::ActionKind::kIr, tuned);
  ASSERT_TRUE(built) << built.error().message;
  auto action = parse<reapi::Action>(*built, built->action);
  EXPECT_EQ(action.input_root_digest().hash(),
            parse<reapi::Action>(*compile, compile->action).input_root_digest().hash());
  auto command = parse<reapi::Command>(*built, *fromProto(action.command_digest()));
  std::vector<std::string> arguments(command.arguments().begin(), command.arguments().end());
  EXPECT_EQ(arguments,
            (std::vector<std::string>{"toolchain/bin/kiln-cc", "compile", "--model", "input/model.onnx",
                                      "--spec", "input/spec.json", "--out", "output/artifact", "--emit-ir",
                                      "output/ir", "--tuning", "input/tuning.json"}));
}

TEST(ActionBuilder, LaysOutCommandAndInputTree) {
  auto built = buildAction(index::ActionKind::kCompile, spec());
  ASSERT_TRUE(built) << built.error().message;
  auto action = parse<reapi::Action>(*built, built->action);
  EXPECT_FALSE(action.do_not_cache());
  auto command = parse<reapi::Command>(*built, *fromProto(action.command_digest()));
  std::vector<std::string> arguments(command.arguments().begin(), command.arguments().end());
  EXPECT_EQ(arguments,
            (std::vector<std::string>{"toolchain/bin/kiln-cc", "compile", "--model", "input/model.onnx",
                                      "--spec", "input/spec.json", "--out", "output"}));
  EXPECT_EQ(command.working_directory(), "");
  ASSERT_EQ(command.output_paths_size(), 1);
  EXPECT_EQ(command.output_paths(0), "output");
  std::vector<std::string> names;
  for (const auto& variable : command.environment_variables()) names.push_back(variable.name());
  EXPECT_EQ(names, (std::vector<std::string>{"GLIBC_TUNABLES", "HOME", "LC_ALL", "PATH", "TZ"}));

  auto root = parse<reapi::Directory>(*built, *fromProto(action.input_root_digest()));
  ASSERT_EQ(root.directories_size(), 2);
  EXPECT_EQ(root.directories(0).name(), "input");
  EXPECT_EQ(root.directories(1).name(), "toolchain");
  EXPECT_EQ(*fromProto(root.directories(1).digest()), spec().toolchainDigest);
  auto input = parse<reapi::Directory>(*built, *fromProto(root.directories(0).digest()));
  ASSERT_EQ(input.files_size(), 2);
  EXPECT_EQ(input.files(0).name(), "model.onnx");
  EXPECT_EQ(input.files(1).name(), "spec.json");
  ASSERT_EQ(input.directories_size(), 1);
  EXPECT_EQ(input.directories(0).name(), "data");
  auto specText = bytesOf(*built, *fromProto(input.files(1).digest()));
  auto again = CompileSpec::fromJson(*parseStrictJson(specText));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, spec());
}

TEST(ActionBuilder, EqualSpecsHaveEqualActions) {
  EXPECT_EQ(buildAction(index::ActionKind::kCompile, spec())->action,
            buildAction(index::ActionKind::kCompile, spec())->action);
}

TEST(ActionBuilder, AReferenceIsAnotherAction) {
  EXPECT_NE(buildAction(index::ActionKind::kReference, spec())->action,
            buildAction(index::ActionKind::kCompile, spec())->action);
}

TEST(ActionBuilder, TheReferenceIsSharedBetweenTargets) {
  CompileSpec other = spec();
  other.target = "cpu:x86-64-v4";
  other.features = {"+avx512f"};
  other.maxPlannedBytes = 5;
  other.fallback = "cpu";
  EXPECT_EQ(buildAction(index::ActionKind::kReference, referenceSpec(spec()))->action,
            buildAction(index::ActionKind::kReference, referenceSpec(other))->action);
  other.profiles[0].dims["n"] = {2, 2, 2};
  EXPECT_NE(buildAction(index::ActionKind::kReference, referenceSpec(spec()))->action,
            buildAction(index::ActionKind::kReference, referenceSpec(other))->action);
}

TEST(ActionBuilder, RefusesUnsafeAndClashingPaths) {
  for (const char* path : {"../../etc/passwd", "/etc/passwd", "a//b", ".", "", "model.onnx", "spec.json"}) {
    CompileSpec bad = spec();
    bad.files[1].path = path;
    auto built = buildAction(index::ActionKind::kCompile, bad);
    ASSERT_FALSE(built) << path;
    EXPECT_EQ(built.error().code, Code::kInvalidArgument) << path;
  }
  CompileSpec bad = spec();
  bad.files.push_back({"data/weights.bin/deeper", digestOf(std::string_view("x"))});
  EXPECT_FALSE(buildAction(index::ActionKind::kCompile, bad));
}

TEST(FetchAction, DependsOnAllOfTheSource) {
  index::GitSource source{"https://h/r", std::string(40, '1'), "m"};
  Digest base = fetchAction(source);
  auto with = [&](auto change) {
    index::GitSource other = source;
    change(other);
    return fetchAction(other);
  };
  EXPECT_NE(base, with([](auto& s) { s.url += "x"; }));
  EXPECT_NE(base, with([](auto& s) { s.commit[0] = '2'; }));
  EXPECT_NE(base, with([](auto& s) { s.path += "x"; }));
}

}  // namespace
}  // namespace kiln::jobs
