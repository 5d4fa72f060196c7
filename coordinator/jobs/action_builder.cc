#include "coordinator/jobs/action_builder.h"

#include "manifest/spec/path.h"
#include "manifest/spec/target.h"
#include "storage/tree/tree_builder.h"

namespace kiln::jobs {
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

reapi::Command command(index::ActionKind kind, const std::string& model) {
  reapi::Command out;
  const char* verb = kind == index::ActionKind::kReference ? "reference" : "compile";
  for (const std::string& argument :
       {std::string("toolchain/bin/kiln-cc"), std::string(verb), std::string("--model"), "input/" + model,
        std::string("--spec"), std::string("input/spec.json"), std::string("--out"), std::string("output")})
    out.add_arguments(argument);
  for (const auto& [name, value] : kEnvironment) {
    auto* variable = out.add_environment_variables();
    variable->set_name(name);
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

Result<BuiltAction> buildAction(index::ActionKind kind, const CompileSpec& spec) {
  BuiltAction built;
  KILN_ASSIGN(std::string specText, toCanonicalJson(spec.toJson()));
  storage::TreeBuilder input;
  KILN_TRY(input.addTree("toolchain", spec.toolchain));
  KILN_TRY(input.addFile("input/spec.json", built.keep(std::move(specText)), false));
  for (const ModelFile& file : spec.files) {
    KILN_TRY(checkRelativePath(file.path));
    if (auto added = input.addFile("input/" + file.path, file.digest, false); !added)
      return fail(Code::kInvalidArgument, "model file: " + added.error().message);
  }
  storage::BuiltTree tree = input.build();
  std::move(tree.directories.begin(), tree.directories.end(), std::back_inserter(built.blobs));
  reapi::Action action;
  *action.mutable_command_digest() =
      toProto(built.keep(command(kind, spec.files.front().path).SerializeAsString()));
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

Digest fetchAction(const index::GitSource& source) {
  // Members of text have a canonical form unless they are not UTF-8, which the request check refuses.
  auto text = toCanonicalJson({{"commit", source.commit}, {"path", source.path}, {"url", source.url}});
  return digestOf(text.value_or(source.url + "\n" + source.commit + "\n" + source.path));
}

}  // namespace kiln::jobs
