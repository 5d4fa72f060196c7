#include "compiler_core/driver/import_profiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler_core/ir/index_checks.h"

namespace kiln::driver {
namespace {

// "N=1, H=32:64:128" of one profile.
std::string sizesText(const analysis::Profile& profile) {
  std::vector<std::string> texts;
  for (const analysis::ProfileDim& dim : profile.dims)
    texts.push_back(dim.min == dim.max ? fmt::format("{}={}", dim.name, dim.min)
                                       : fmt::format("{}={}:{}:{}", dim.name, dim.min, dim.opt, dim.max));
  return fmt::format("{}", fmt::join(texts, ", "));
}

Result<frontend::Captured> importTogether(mlir::MLIRContext& context, const frontend::Model& model,
                                          const CompileRequest& request,
                                          const std::vector<analysis::Profile>& profiles) {
  KILN_ASSIGN(analysis::ProfileBounds bounds, analysis::boundsOf(profiles));
  // Whether a dimension can be padded shows only where it is a symbol.
  if (request.pad)
    for (const auto& [name, value] : std::exchange(bounds.fixed, {})) bounds.ranges[name] = {value, value};
  return model.import(context, {bounds.fixed, request.pins, bounds.ranges, request.sequences});
}

// Moves the weights behind those of `into`, and the module's references with them.
void takeWeights(frontend::Captured& from, ir::WeightTable& into) {
  const std::int64_t offset = into.size();
  for (std::int64_t i = 0; i < from.weights.size(); ++i) into.add(*from.weights.find(i));
  from.module->walk(
      [&](ir::WeightOp weight) { weight.setIndex(weight.getIndex() + static_cast<std::uint64_t>(offset)); });
}

tl::unexpected<Error> differ(const std::string& what) {
  return fail(Code::kUnimplemented,
              what + "; the profiles of one program give the same: build an artifact for each");
}

// What the profiles make of one dimension, each text once.
using Texts = std::vector<std::string>;

// For people.
std::string eitherText(const Texts& texts) {
  constexpr std::size_t kMaxText = 256;
  std::string text = fmt::format("{}", fmt::join(texts, " or "));
  return text.size() > kMaxText ? "as the profile gives" : text;
}

std::string dimText(const ir::Signature& tensor, std::size_t i) {
  return tensor.dimNames[i].empty() ? std::to_string(tensor.shape[i]) : tensor.dimNames[i];
}

Status mergeOutput(ir::Signature& output, const ir::Signature& other, std::vector<Texts>& texts) {
  if (output.dtype != other.dtype || output.shape.size() != other.shape.size())
    return differ(
        fmt::format("output '{}' has rank {} or {}", output.name, output.shape.size(), other.shape.size()));
  for (std::size_t i = 0; i < output.shape.size(); ++i) {
    std::string text = dimText(other, i);
    if (texts[i].empty()) texts[i].push_back(dimText(output, i));
    if (llvm::is_contained(texts[i], text)) continue;
    texts[i].push_back(std::move(text));
    output.shape[i] = analysis::kSymbolic;
    output.dimNames[i] = eitherText(texts[i]);
  }
  return {};
}

// What profile after profile adds to the first one's.
class Merge {
 public:
  explicit Merge(frontend::Captured& common) : common_(common), texts_(common.outputs.size()) {
    for (std::size_t i = 0; i < texts_.size(); ++i) texts_[i].resize(common.outputs[i].shape.size());
  }

  Status add(frontend::Captured& other) {
    if (common_.symbols.size() != other.symbols.size() || common_.outputs.size() != other.outputs.size())
      return differ("the profiles have other symbols or outputs");
    for (std::size_t i = 0; i < common_.symbols.size(); ++i) {
      ir::Symbol& symbol = common_.symbols[i];
      const ir::Symbol& same = other.symbols[i];
      if (symbol.name != same.name || symbol.input != same.input || symbol.index != same.index ||
          symbol.element != same.element)
        return differ(fmt::format("symbol {} is '{}' or '{}'", i, symbol.name, same.name));
      symbol.range = {std::min(symbol.range.min, same.range.min), std::max(symbol.range.max, same.range.max)};
    }
    for (std::size_t i = 0; i < common_.inputs.size(); ++i)
      for (std::size_t k = 0; k < common_.inputs[i].shape.size(); ++k)
        if (common_.inputs[i].shape[k] != other.inputs[i].shape[k])
          common_.inputs[i].shape[k] = analysis::kSymbolic;
    for (std::size_t i = 0; i < common_.outputs.size(); ++i)
      KILN_TRY(mergeOutput(common_.outputs[i], other.outputs[i], texts_[i]));
    takeWeights(other, common_.weights);
    return {};
  }

 private:
  frontend::Captured& common_;
  std::vector<std::vector<Texts>> texts_;  // by output and dimension
};

// Whether larger sizes end otherwise; else the fault is the model's own, as an initializer that is cut short.
bool dependsOnSizes(mlir::MLIRContext& context, const frontend::Model& model, const CompileRequest& request,
                    std::vector<analysis::Profile> profiles, const Error& error) {
  constexpr std::int64_t kMore = 64;  // beyond most windows
  for (analysis::Profile& profile : profiles)
    for (analysis::ProfileDim& dim : profile.dims) dim.min += kMore, dim.opt += kMore, dim.max += kMore;
  const auto captured = importTogether(context, model, request, profiles);
  return captured || captured.error().message != error.message;
}

// Pins without which the model ends otherwise, "--pin axes=7" each: with zeros instead, which are an axis and
// an extent of any tensor.
std::vector<std::string> blamedPins(mlir::MLIRContext& context, const frontend::Model& model,
                                    const CompileRequest& request,
                                    const std::vector<analysis::Profile>& profiles, const Error& error) {
  std::vector<std::string> fatal, other;
  for (const auto& [name, values] : request.pins) {
    CompileRequest varied;
    varied.pad = request.pad;
    varied.sequences = request.sequences;
    varied.pins = request.pins;
    varied.pins[name].assign(values.size(), std::int64_t{0});
    const auto captured = importTogether(context, model, varied, profiles);
    if (!captured && captured.error().message == error.message) continue;
    const std::string list = pinListText(values);  // in brackets
    (captured ? fatal : other).push_back(fmt::format("--pin {}={}", name, list.substr(1, list.size() - 2)));
  }
  return fatal.empty() ? other : fatal;
}

}  // namespace

Error withSizes(mlir::MLIRContext& context, const frontend::Model& model, const CompileRequest& request,
                const std::vector<analysis::Profile>& profiles, Error error) {
  if (error.code != Code::kInvalidArgument) return error;
  std::vector<std::string> texts;
  for (const analysis::Profile& profile : profiles)
    if (!profile.dims.empty()) texts.push_back(sizesText(profile));
  if (const auto pins = blamedPins(context, model, request, profiles, error); !pins.empty()) {
    // Given with the command, not by the model.
    error.code = Code::kUnimplemented;
    error.message += fmt::format(" (with {}{}{}; if the model is right, other values fit it)",
                                 fmt::join(texts, "; "), texts.empty() ? "" : ", ", fmt::join(pins, ", "));
  } else if (!texts.empty() && dependsOnSizes(context, model, request, profiles, error)) {
    error.message +=
        fmt::format(" (with {}; if the model is right, other sizes fit it)", fmt::join(texts, "; "));
  }
  return error;
}

Error blamedOnSizes(mlir::MLIRContext& context, const frontend::Model& model, const CompileRequest& request,
                    const analysis::Profile& profile, Error error) {
  if (error.code != Code::kInternal) return error;
  analysis::Profile least = profile;
  for (analysis::ProfileDim& dim : least.dims) dim.opt = dim.max = dim.min;
  const auto captured = importTogether(context, model, request, {least});
  if (captured || captured.error().code != Code::kInvalidArgument) return error;
  return withSizes(context, model, request, {least}, captured.error());
}

Result<ImportedProfiles> importProfiles(mlir::MLIRContext& context, const frontend::Model& model,
                                        const CompileRequest& request) {
  ImportedProfiles result;
  auto together = importTogether(context, model, request, request.profiles);
  if (together) {
    result.common = std::move(*together);
    return result;
  }
  const auto blamed = [&](const std::vector<analysis::Profile>& profiles, const Error& error) {
    return withSizes(context, model, request, profiles, error);
  };
  if (request.profiles.size() == 1 || request.pad) return fail(blamed(request.profiles, together.error()));
  std::optional<Merge> merge;
  for (const analysis::Profile& profile : request.profiles) {
    auto one = importTogether(context, model, request, {profile});
    if (!one && one.error().message == together.error().message)
      return fail(blamed(request.profiles, together.error()));
    if (!one) return fail(blamed({profile}, one.error()).in(fmt::format("profile '{}'", profile.name)));
    if (merge) {
      if (auto merged = merge->add(*one); !merged) return fail(merged.error());
      result.own.push_back(std::move(one->module));
      continue;
    }
    result.common = std::move(*one);
    merge.emplace(result.common);
    result.own.push_back(result.common.module->clone());
  }
  llvm::SmallVector<mlir::ModuleOp> modules = {*result.common.module};
  for (auto& module : result.own) modules.push_back(*module);
  ir::alignIndexChecks(modules);
  return result;
}

}  // namespace kiln::driver
