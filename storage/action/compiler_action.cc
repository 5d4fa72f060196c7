#include "storage/action/compiler_action.h"

#include "manifest/spec/path.h"
#include "manifest/spec/target.h"
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

reapi::Command command(CompilerVerb verb, const std::string& model) {
  reapi::Command out;
  const char* name = verb == CompilerVerb::kReference ? "reference" : "compile";
  const bool emulate = verb == CompilerVerb::kEmulate;
  for (const std::string& argument :
       {std::string("toolchain/bin/kiln-cc"), std::string(name), std::string("--model"), "input/" + model,
        std::string("--spec"), std::string("input/spec.json"), std::string("--out"),
        std::string(emulate ? "output/artifact" : "output")})
    out.add_arguments(argument);
  if (emulate)
    for (const char* argument : {"--emulation", "output/emulation"}) out.add_arguments(argument);
  for (const auto& [key, value] : kEnvironment) {
    auto* variable = out.add_environment_variables();
    variable->set_name(key);
    variable->set_value(value);
  }
  out.add_output_paths("output");
  return out;
}

}  // namespace

Digest BuiltAction::keep(std::string bytes) {
  Digest digest = digestOf(bytes);
  blobs.push_back({digest, {}, std::move(bytes)});
  return digest;
}

Result<BuiltAction> buildAction(CompilerVerb verb, const CompileSpec& spec) {
  return buildActionWith(spec.toolchain, verb, spec);
}

Result<BuiltAction> buildActionWith(const Digest& toolchain, CompilerVerb verb, const CompileSpec& spec) {
  BuiltAction built;
  KILN_ASSIGN(std::string specText, toCanonicalJson(spec.toJson()));
  TreeBuilder input;
  KILN_TRY(input.addTree("toolchain", toolchain));
  KILN_TRY(input.addFile("input/spec.json", built.keep(std::move(specText)), false));
  for (const ModelFile& file : spec.files) {
    KILN_TRY(checkRelativePath(file.path));
    if (auto added = input.addFile("input/" + file.path, file.digest, false); !added)
      return fail(Code::kInvalidArgument, "model file: " + added.error().message);
  }
  BuiltTree tree = input.build();
  std::move(tree.directories.begin(), tree.directories.end(), std::back_inserter(built.blobs));
  reapi::Action action;
  *action.mutable_command_digest() =
      toProto(built.keep(command(verb, spec.files.front().path).SerializeAsString()));
  *action.mutable_input_root_digest() = toProto(tree.root);
  built.action = built.keep(action.SerializeAsString());
  return built;
}

CompileSpec referenceSpec(const CompileSpec& spec) {
  CompileSpec out = spec;
  out.target = kReferenceTarget;
  out.features.clear();
  if (auto target = parseTarget(kReferenceTarget)) out.features = target->features;
  out.fallback = "fail";
  out.partition = {};
  out.maxArtifactBytes = 0;
  out.maxPlannedBytes = 0;
  return out;
}

}  // namespace kiln::storage
