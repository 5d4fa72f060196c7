// kiln-cc spec: makes a CompileSpec from a command line.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/frontend/outline.h"
#include "compiler_core/frontend/parameters/expand.h"
#include "compiler_core/package/files.h"
#include "manifest/spec/path.h"
#include "manifest/spec/profile_option.h"

namespace kiln::driver {
namespace {

// The model under its canonical name, then its external data by path.
Result<std::vector<ModelFile>> filesOf(const std::string& model) {
  KILN_ASSIGN(const Digest digest, digestOfFile(model));
  KILN_ASSIGN(const frontend::Outline outline, frontend::outlineOf(model));
  std::vector<ModelFile> files = {{outline.form == "ONNX" ? "model.onnx" : "model.mlir", digest}};
  for (const std::string& path : outline.externalFiles) {
    if (auto safe = checkRelativePath(path); !safe) return fail(safe.error().in("external data " + path));
    KILN_ASSIGN(const Digest data,
                digestOfFile((std::filesystem::path(model).parent_path() / path).string()));
    files.push_back({path, data});
  }
  return files;
}

Status addParameters(const std::vector<std::string>& given, CompileSpec& spec) {
  KILN_ASSIGN(const auto files, parameters::expandParameters(given));
  for (const parameters::TensorFile& file : files) {
    KILN_ASSIGN(const Digest digest, digestOfFile(file.file));
    spec.files.push_back({file.path, digest});
    spec.parameters.push_back(file.path);
  }
  std::sort(spec.files.begin() + 1, spec.files.end(),
            [](const ModelFile& a, const ModelFile& b) { return a.path < b.path; });
  return {};
}

}  // namespace

Result<std::vector<std::string>> parametersOf(const CompileSpec& spec, const ModelPaths& given) {
  std::vector<std::string> files;
  KILN_ASSIGN(const auto named, parameters::expandParameters(given.parameters));
  for (const parameters::TensorFile& file : named) files.push_back(file.file);
  if (files.empty())
    for (const std::string& path : spec.parameters)
      files.push_back((std::filesystem::path(given.model).parent_path() / path).string());
  if (files.size() != spec.parameters.size())
    return fail(
        Code::kFailedPrecondition,
        fmt::format("{} files of parameters are given, but the spec names {}; make a spec for them with "
                    "kiln-cc spec --params",
                    files.size(), spec.parameters.size()));
  for (std::size_t i = 0; i < files.size(); ++i) {
    KILN_ASSIGN(const Digest digest, digestOfFile(files[i]));
    const auto stated = std::ranges::find(spec.files, spec.parameters[i], &ModelFile::path);
    if (stated == spec.files.end() || stated->digest != digest)
      return fail(
          Code::kFailedPrecondition,
          fmt::format("{} is {}, which is not what the spec names as {}; make a spec for this file with "
                      "kiln-cc spec --params",
                      files[i], digest.text(), spec.parameters[i]));
  }
  return files;
}

tl::expected<CompileSpec, CommandError> optionsOf(const ModelArguments& arguments) {
  auto target = parseTarget(arguments.target);
  if (!target)
    return stop(target.error().code == Code::kUnimplemented ? kExitUnsupported : kExitUsage, target.error());
  CompileSpec spec;
  spec.target = target->name;
  spec.features = target->features;
  spec.numerics.precision = arguments.precision;
  spec.numerics.reassociation = arguments.reassociation;
  if (auto applied = applyRules(arguments.partition, spec); !applied)
    return tl::make_unexpected(applied.error());
  auto profiles = parseProfiles(arguments.profile);
  if (!profiles) return stop(kExitUsage, profiles.error());
  spec.profiles = std::move(*profiles);
  for (const std::string& pin : arguments.pin)
    if (auto added = addPin(pin, spec.pins); !added) return stop(kExitUsage, added.error());
  for (const std::string& sequence : arguments.sequence)
    if (auto added = addComposite(sequence, spec.sequences); !added) return stop(kExitUsage, added.error());
  return spec;
}

tl::expected<CompileSpec, CommandError> makeSpec(const ModelArguments& arguments) {
  auto spec = optionsOf(arguments);
  if (!spec) return spec;
  const auto model = locate(arguments.model);
  if (!model) return tl::make_unexpected(model.error());
  auto files = filesOf(model->model);
  if (!files) return stop(files.error());
  spec->files = std::move(*files);
  if (auto added = addParameters(model->parameters, *spec); !added) return stop(added.error());
  return spec;
}

CommandResult specCommand(const SpecArguments& arguments) {
  auto spec = makeSpec(arguments);
  if (!spec) return tl::make_unexpected(spec.error());
  auto text = toCanonicalJson(spec->toJson());
  if (!text) return stop(text.error());
  if (arguments.out.empty()) {
    fmt::print("{}\n", *text);
    return {};
  }
  if (auto written = package::writeFile(arguments.out, asBytes(*text)); !written)
    return stop(exitCodeOf(written.error().code), written.error());
  return {};
}

}  // namespace kiln::driver
