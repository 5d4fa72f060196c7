#include "api/client/model_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "manifest/base/printable.h"
#include "manifest/spec/dim_option.h"

namespace kiln::client {
namespace {

bool isOnnxName(const std::string& name) {
  return !name.ends_with(".mlir");
}

// A list whose only dimension has no name is as long as its pin.
bool isPinned(const onnx::OpenDimension& dim, const CompileSpec& options) {
  return dim.name == dim.input + ".0" && options.pins.contains(dim.input);
}

// The profiles of a spec that does not say any give no dimension.
bool isGiven(const onnx::OpenDimension& dim, const CompileSpec& options) {
  if (isPinned(dim, options)) return true;
  return !options.profiles.empty() && std::ranges::all_of(options.profiles, [&](const ShapeProfile& profile) {
    return profile.dims.contains(dim.name);
  });
}

}  // namespace

Result<onnx::Model> readModel(Bytes bytes, const std::string& name) {
  auto model = onnx::readModel(bytes);
  if (model) return model;
  Error error = model.error().in(name);
  if (error.code == Code::kInvalidArgument) error.details = R"({"exitCode":3})";
  return fail(std::move(error));
}

Status checkGiven(const onnx::Requirements& requirements, const std::string& name,
                  const CompileSpec& options) {
  constexpr std::size_t kMostNamed = 32;
  std::vector<std::string> open, flags;
  for (const onnx::OpenDimension& dim : requirements.dimensions) {
    if (isGiven(dim, options)) continue;
    open.push_back(
        fmt::format("{} (dimension {} of input {})", printable(dim.name), dim.index, printable(dim.input)));
    flags.push_back("--profile " + printable(dimOption(dim.name)) + "=");
  }
  for (const std::string& input : requirements.sequences) {
    if (options.sequences.contains(input)) continue;
    open.push_back("what input " + printable(input) + " of sequence or optional type holds");
    flags.push_back("--sequence " + printable(input) + "=");
  }
  if (open.empty()) return {};
  const std::size_t count = open.size();
  if (count > kMostNamed) open.resize(kMostNamed), flags.resize(kMostNamed);
  return fail(
      Code::kUnimplemented,
      fmt::format(
          "{}: the options leave {} of the model open: {}{}; give {}{}, a dimension as a number or as "
          "MIN:OPT:MAX (kiln inspect shows a whole command line)",
          name, count, fmt::join(open, ", "), count > kMostNamed ? ", ..." : "", fmt::join(flags, " "),
          count > kMostNamed ? " ..." : ""));
}

Status checkModel(Bytes bytes, const std::string& name, const CompileSpec& options) {
  if (!isOnnxName(name)) return {};
  KILN_ASSIGN(const onnx::Model model, readModel(bytes, name));
  return checkGiven(onnx::requirementsOf(model), name, options);
}

Status checkModelFile(const std::string& path, const CompileSpec& options) {
  if (!isOnnxName(path)) return {};
  KILN_ASSIGN(const auto file, onnx::MappedFile::open(path));
  return checkModel(file->bytes(), path, options);
}

}  // namespace kiln::client
