#include "storage/action/compiler_action.h"

#include "manifest/spec/path.h"
#include "manifest/spec/target.h"
#include "manifest/tuning/entries.h"
#include "manifest/tuning/record.h"
#include "storage/tree/tree_builder.h"

namespace kiln::storage {
namespace {

// Sorted by name. The hwcaps mask keeps glibc from choosing math by the CPU it runs on.
constexpr std::pair<const char*, const char*> kEnvironment[] = {
    {"GLIBC_TUNABLES", "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4"},
    {"HOME", "/nonexistent"},
    {"LC_ALL", "C"},
    {"PATH", "/nonexistent"},
    {"TZ", "UTC"},
};
constexpr char kReferenceTarget[] = "cpu:x86-64-v3";
constexpr char kCompiler[] = "toolchain/bin/kiln-cc", kSpec[] = "input/spec.json";

reapi::Command command(const std::vector<std::string>& arguments) {
  reapi::Command out;
  for (const std::string& argument : arguments) out.add_arguments(argument);
  for (const auto& [key, value] : kEnvironment) {
    auto* variable = out.add_environment_variables();
    variable->set_name(key);
    variable->set_value(value);
  }
  out.add_output_paths("output");
  return out;
}

const char* nameOf(CompilerVerb verb) {
  switch (verb) {
    case CompilerVerb::kReference:
      return "reference";
    case CompilerVerb::kPlan:
      return "plan";
    default:
      return "compile";
  }
}

bool compiles(CompilerVerb verb) {
  return verb == CompilerVerb::kCompile || verb == CompilerVerb::kEmulate || verb == CompilerVerb::kIr;
}

std::vector<std::string> argumentsOf(CompilerVerb verb, const CompileSpec& spec) {
  const bool emulate = verb == CompilerVerb::kEmulate, ir = verb == CompilerVerb::kIr;
  std::vector<std::string> out{
      kCompiler, nameOf(verb), "--model", "input/" + spec.files.front().path,
      "--spec",  kSpec,        "--out",   emulate || ir ? "output/artifact" : "output"};
  if (emulate) out.insert(out.end(), {"--emulation", "output/emulation"});
  if (ir) out.insert(out.end(), {"--emit-ir", "output/ir"});
  if (spec.tuning && compiles(verb))
    out.insert(out.end(), {"--tuning", std::string("input/") + kTuningEntriesFile});
  return out;
}

// The input tree's directories and the action that runs `arguments` in it.
BuiltAction finish(BuiltAction built, TreeBuilder& input, const std::vector<std::string>& arguments) {
  BuiltTree tree = input.build();
  std::move(tree.directories.begin(), tree.directories.end(), std::back_inserter(built.blobs));
  reapi::Action action;
  *action.mutable_command_digest() = toProto(built.keep(command(arguments).SerializeAsString()));
  *action.mutable_input_root_digest() = toProto(tree.root);
  built.action = built.keep(action.SerializeAsString());
  return built;
}

}  // namespace

Digest BuiltAction::keep(std::string bytes) {
  Digest digest = digestOf(bytes);
  blobs.push_back({digest, {}, std::move(bytes)});
  return digest;
}

Result<BuiltAction> buildAction(CompilerVerb verb, const CompileSpec& spec) {
  return buildActionWith(spec.toolchainDigest, verb, spec);
}

Result<BuiltAction> buildActionWith(const Digest& toolchain, CompilerVerb verb, const CompileSpec& spec) {
  BuiltAction built;
  KILN_ASSIGN(std::string specText, toCanonicalJson(spec.toJson()));
  TreeBuilder input;
  KILN_TRY(input.addTree("toolchain", toolchain));
  KILN_TRY(input.addFile(kSpec, built.keep(std::move(specText)), false));
  for (const ModelFile& file : spec.files) {
    KILN_TRY(checkRelativePath(file.path));
    if (auto added = input.addFile("input/" + file.path, file.digest, false); !added)
      return fail(Code::kInvalidArgument, "model file: " + added.error().message);
  }
  if (spec.tuning && compiles(verb))
    if (auto added = input.addFile(std::string("input/") + kTuningEntriesFile, *spec.tuning, false); !added)
      return fail(Code::kInvalidArgument, "tuning: " + added.error().message);
  return finish(std::move(built), input, argumentsOf(verb, spec));
}

Result<BuiltAction> buildTuneAction(const CompileSpec& spec, const std::vector<ModelFile>& plan,
                                    std::uint32_t budgetSeconds) {
  BuiltAction built;
  KILN_ASSIGN(std::string specText, toCanonicalJson(spec.toJson()));
  TreeBuilder input;
  KILN_TRY(input.addTree("toolchain", spec.toolchainDigest));
  KILN_TRY(input.addFile(kSpec, built.keep(std::move(specText)), false));
  for (const ModelFile& file : plan) KILN_TRY(input.addFile("input/plan/" + file.path, file.digest, false));
  return finish(
      std::move(built), input,
      {kCompiler, "tune", "--plan", "input/plan", "--spec", kSpec, "--out",
       std::string("output/") + kTuningRecordFile, "--budget", std::to_string(budgetSeconds) + "s"});
}

CompileSpec referenceSpec(const CompileSpec& spec) {
  CompileSpec out = spec;
  out.target = kReferenceTarget;
  out.features.clear();
  if (auto target = parseTarget(kReferenceTarget)) out.features = target->features;
  out.fallback = "fail";
  out.partition = {};
  out.tuning.reset();
  out.maxArtifactBytes = 0;
  out.maxPlannedBytes = 0;
  return out;
}

}  // namespace kiln::storage
