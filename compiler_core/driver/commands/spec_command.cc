// kiln-cc spec: makes a CompileSpec from a command line.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/frontend/outline.h"
#include "compiler_core/package/files.h"
#include "manifest/spec/path.h"
#include "manifest/spec/profile_option.h"

namespace kiln::driver {
namespace {

// The model under its canonical name, then its external data by path.
Result<std::vector<ModelFile>> filesOf(const std::string& model) {
  KILN_ASSIGN(const Digest digest, digestOfFile(model));
  std::vector<ModelFile> files = {{"model.onnx", digest}};
  KILN_ASSIGN(const frontend::Outline outline, frontend::outlineOf(model));
  for (const std::string& path : outline.externalFiles) {
    if (auto safe = checkRelativePath(path); !safe) return fail(safe.error().in("external data " + path));
    KILN_ASSIGN(const Digest data,
                digestOfFile((std::filesystem::path(model).parent_path() / path).string()));
    files.push_back({path, data});
  }
  return files;
}

}  // namespace

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
  if (auto there = checkThere(arguments.model); !there) return tl::make_unexpected(there.error());
  auto files = filesOf(arguments.model);
  if (!files) return stop(files.error());
  spec->files = std::move(*files);
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
