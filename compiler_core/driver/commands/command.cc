#include "compiler_core/driver/commands/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/frontend/folder/model_folder.h"
#include "compiler_core/runtime/program_abi.h"
#include "manifest/artifact/c_header.h"
#include "manifest/base/file.h"
#include "manifest/json/json.h"
#include "manifest/json/reader.h"
#include "manifest/spec/bare_metal.h"
#include "manifest/spec/target_device.h"

namespace kiln::driver {
namespace {

constexpr char kVersion[] = "0.1.0";
constexpr std::size_t kMaxSpecBytes = 1 << 20;

std::vector<analysis::Profile> profilesOf(const CompileSpec& spec) {
  std::vector<analysis::Profile> profiles;
  for (const ShapeProfile& profile : spec.profiles) {
    analysis::Profile& own = profiles.emplace_back(analysis::Profile{profile.name, {}});
    for (const auto& [name, range] : profile.dims)
      own.dims.push_back({name, range.min, range.opt, range.max, range.multiple});
  }
  return profiles;
}

}  // namespace

ExitCode exitFor(const Error& error) {
  switch (error.code) {
    case Code::kInvalidArgument:
      return kExitInvalidModel;
    case Code::kNotFound:  // the model's external data, or a file that was named
      return kExitNotFound;
    case Code::kFailedPrecondition:  // documents that do not belong to the model
      return kExitUsage;
    case Code::kUnimplemented:
    case Code::kResourceExhausted:
      return kExitUnsupported;
    case Code::kPermissionDenied:  // to write where --out says
      return kExitDenied;
    default:
      return kExitInternal;
  }
}

Result<std::string> readText(const std::string& path, std::uint64_t limit, const char* hint) {
  auto text = readRegular(path, limit);
  if (!text && text.error().code == Code::kNotFound)
    return fail(Code::kNotFound, fmt::format("{}: cannot be read; {}", path, hint));
  return text;
}

ExitCode exitForFile(const Error& error) {
  return error.code == Code::kNotFound ? kExitNotFound : kExitUsage;
}

tl::expected<ModelPaths, CommandError> locate(const ModelPaths& given) {
  auto found = frontend::modelAt(given.model);
  if (!found) return stop(exitForFile(found.error()), found.error());
  if (auto file = openRegular(found->model); !file && file.error().code == Code::kNotFound)
    return stop(kExitNotFound, file.error());
  for (const std::string& file : given.parameters) {
    std::error_code ignored;
    if (std::filesystem::status(file, ignored).type() == std::filesystem::file_type::not_found)
      return stop(kExitNotFound,
                  {Code::kNotFound,
                   fmt::format("--params {}: no such file; give one with tensors (safetensors, npz, npy, "
                               "GGUF), or a folder with model.safetensors",
                               file),
                   {}});
  }
  return ModelPaths(std::move(found->model),
                    given.parameters.empty() ? std::move(found->parameters) : given.parameters);
}

tl::expected<CompileSpec, CommandError> readSpec(const std::string& path) {
  const auto text = readText(path, kMaxSpecBytes, "give a CompileSpec (see kiln-cc spec)");
  if (!text) return stop(exitForFile(text.error()), text.error());
  auto json = parseStrictJson(*text);
  if (!json) return stop(kExitUsage, json.error().in(path));
  auto spec = CompileSpec::fromJson(*json);
  if (!spec) return stop(kExitUsage, spec.error().in(path));
  return *spec;
}

Status checkServed(const CompileSpec& spec) {
  const auto refuse = [&](const char* member, const std::string& value, const char* served) {
    return fail(Code::kUnimplemented,
                fmt::format("{} \"{}\" is not served for {} by this toolchain yet; give \"{}\"", member,
                            value, spec.target, served));
  };
  const bool hasDevice = wantsDevice(spec.target);
  const bool hasTf32 = hasDevice && std::ranges::none_of(targetNames(spec.target), isVulkan);
  // No schedule of a device names an order of its own, so that there is nothing to tune.
  if (hasDevice && spec.numerics.reassociation == "on")
    return refuse("numerics.reassociation", spec.numerics.reassociation, "deterministic\" or \"off");
  // Processors and devices of Vulkan have no products of tf32.
  const std::string_view precision = hasTf32 ? "tf32" : hasDevice ? "f32" : "int8";
  if (spec.numerics.precision != "f32" && spec.numerics.precision != precision)
    return refuse("numerics.precision", spec.numerics.precision,
                  hasTf32     ? "f32\" or \"tf32"
                  : hasDevice ? "f32"
                              : "f32\" or \"int8");
  if (spec.outOfProfile != "fail" && spec.outOfProfile != "pad")
    return refuse("outOfProfile", spec.outOfProfile, "fail\" or \"pad");
  return {};
}

schedule::Reassociation reassociationOf(const Numerics& numerics) {
  using enum schedule::Reassociation;
  if (numerics.reassociation == "deterministic") return kDeterministic;
  return numerics.reassociation == "on" ? kOn : kOff;
}

CompileRequest requestOf(const CompileSpec& spec, Target target) {
  CompileRequest request;
  request.target = std::move(target);
  request.profiles = profilesOf(spec);
  request.pad = spec.outOfProfile == "pad";
  request.pins = spec.pins;
  request.sequences = spec.sequences;
  request.contraction = spec.numerics.contraction == "on";
  request.reassociation = reassociationOf(spec.numerics);
  request.tf32 = spec.numerics.precision == "tf32";
  request.quantised = spec.numerics.precision == "int8";
  request.fallback = spec.fallback == "cpu";
  request.partition = spec.partition;
  if (isBareMetal(request.target.triple)) request.entry = entryOf(spec);
  return request;
}

CommandResult applyRules(const PartitionOptionTexts& texts, CompileSpec& spec) {
  auto rules = parseRules(texts);
  if (!rules) return stop(kExitUsage, rules.error());
  if (auto known = checkRules(*rules, targetNames(spec.target)); !known)
    return stop(kExitUsage, known.error());
  spec.fallback = texts.fallback;
  spec.partition = std::move(*rules);
  return {};
}

std::string versionText() {
  return fmt::format("kiln-cc {} (LLVM {}, program ABI {})", kVersion, KILN_LLVM_VERSION, KILN_PROGRAM_ABI);
}

std::string versionJson() {
  return Json{{"name", "kiln"},
              {"version", kVersion},
              {"llvm", KILN_LLVM_VERSION},
              {"programAbi", KILN_PROGRAM_ABI},
              {"targets", servedTargets()}}
      .dump();
}

}  // namespace kiln::driver
