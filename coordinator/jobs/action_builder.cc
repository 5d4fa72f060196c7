#include "coordinator/jobs/action_builder.h"

#include "manifest/spec/target.h"

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

Digest keep(std::map<Digest, std::string>& blobs, std::string bytes) {
  Digest digest = digestOf(bytes);
  blobs.emplace(digest, std::move(bytes));
  return digest;
}

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

Result<BuiltAction> buildAction(index::ActionKind kind, const CompileSpec& spec) {
  BuiltAction built;
  KILN_ASSIGN(std::string specText, toCanonicalJson(spec.toJson()));
  std::vector<TreeFile> files{{"input/spec.json", keep(built.blobs, std::move(specText))}};
  for (const ModelFile& file : spec.files) files.push_back({"input/" + file.path, file.digest});
  KILN_ASSIGN(Tree tree, buildTree(files, {{"toolchain", spec.toolchain}}));
  built.blobs.merge(tree.directories);
  reapi::Action action;
  *action.mutable_command_digest() =
      toProto(keep(built.blobs, command(kind, spec.files.front().path).SerializeAsString()));
  *action.mutable_input_root_digest() = toProto(tree.root);
  built.action = keep(built.blobs, action.SerializeAsString());
  return built;
}

CompileSpec referenceSpec(const CompileSpec& spec) {
  CompileSpec out = spec;
  out.target = kReferenceTarget;
  out.features.clear();
  if (auto target = parseTarget(kReferenceTarget)) out.features = target->features;
  out.fallback = "fail";
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
