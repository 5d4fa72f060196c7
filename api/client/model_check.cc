#include "api/client/model_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "compiler_core/frontend/format/format.h"
#include "compiler_core/frontend/onnx/reader/rule_names.h"
#include "compiler_core/frontend/onnx/reader/tensor_data.h"
#include "compiler_core/frontend/onnx/served/requirements.h"
#include "manifest/base/nearest.h"
#include "manifest/base/printable.h"
#include "manifest/spec/dim_option.h"
#include "manifest/spec/pin.h"

namespace kiln::client {
namespace {

constexpr std::size_t kMaxNamed = 32;

// "a, b, ..." of at most kMaxNamed.
std::string listText(std::vector<std::string> texts, std::string_view between) {
  const bool isCut = texts.size() > kMaxNamed;
  if (isCut) texts.resize(kMaxNamed);
  return fmt::format("{}{}{}", fmt::join(texts, between), isCut ? between : "", isCut ? "..." : "");
}

// What the spec leaves open.
struct Missing {
  std::vector<std::string> open, flags;
};

// Holds the spec against the model's inputs.
class Checker {
 public:
  Checker(const onnx::Model& model, const CompileSpec& spec)
      : model_(model), needs_(onnx::requirementsOf(model)), spec_(spec) {
    std::set<std::string_view> constants;
    for (const onnx::Tensor& tensor : model.graph.initializers) constants.insert(tensor.name);
    for (const onnx::ValueInfo& input : model.graph.inputs)
      if (!constants.contains(input.name)) inputs_.push_back(&input);
  }

  Missing missing() const {
    Missing result;
    for (const onnx::OpenDimension& dim : needs_.dimensions) {
      if (isLengthOfPin(dim)) continue;
      const std::vector<std::string> lacking = profilesWithout(dim.name);
      if (lacking.empty() && !spec_.profiles.empty()) continue;
      const bool isGiven = lacking.size() < spec_.profiles.size();
      result.open.push_back(
          fmt::format("{} (dimension {} of input {}{})", printable(dim.name), dim.index, printable(dim.input),
                      isGiven ? ", not in profile " + listText(lacking, ", ") : std::string()));
      if (!isGiven) result.flags.push_back("--profile " + printable(dimOption(dim.name)) + "=");
      for (const std::string& profile : isGiven ? lacking : std::vector<std::string>())
        result.flags.push_back(fmt::format("--profile {}:{}=", profile, printable(dim.name)));
    }
    for (const std::string& input : needs_.sequences) {
      if (spec_.sequences.contains(input)) continue;
      result.open.push_back("what input " + printable(input) + " of sequence or optional type holds");
      result.flags.push_back("--sequence " + printable(input) + "=");
    }
    return result;
  }

  // What the spec gives that the model has no place for.
  std::vector<std::string> wrong() const {
    std::vector<std::string> texts;
    std::set<std::string> dims;
    for (const ShapeProfile& profile : spec_.profiles)
      for (const auto& [dim, range] : profile.dims) dims.insert(dim);
    for (const std::string& dim : dims) {
      if (!isDimension(dim))
        texts.push_back("the model has no dimension " + inQuotes(dim) + orNearest(dim, knownDimensions()));
      else if (const Status fits = checkSizes(dim); !fits)
        texts.push_back(fits.error().message);
    }
    for (const auto& [name, values] : spec_.pins)
      if (const std::string why = whyNotPinned(name, values); !why.empty()) texts.push_back(why);
    for (const auto& [name, composite] : spec_.sequences)
      if (std::ranges::find(needs_.sequences, name) == needs_.sequences.end())
        texts.push_back("the model has no input " + inQuotes(name) + " of sequence or optional type" +
                        orNearest(name, needs_.sequences));
    for (std::string& text : onnx::unknownNames(model_, spec_.partition)) texts.push_back(std::move(text));
    return texts;
  }

 private:
  // A list whose only dimension has no name is as long as its pin.
  bool isLengthOfPin(const onnx::OpenDimension& dim) const {
    return dim.name == dim.input + ".0" && spec_.pins.contains(dim.input);
  }

  // Each profile gives every dimension by itself.
  std::vector<std::string> profilesWithout(const std::string& dim) const {
    std::vector<std::string> names;
    for (const ShapeProfile& profile : spec_.profiles)
      if (!profile.dims.contains(dim)) names.push_back(printable(profile.name));
    return names;
  }

  std::vector<std::string> knownDimensions() const {
    std::vector<std::string> names;
    for (const onnx::OpenDimension& dim : needs_.dimensions) names.push_back(dim.name);
    return names;
  }

  // One of an input, of what an input of sequence type holds, or an element "k[0]" of an integer input's
  // value.
  bool isDimension(const std::string& name) const {
    for (const onnx::OpenDimension& dim : needs_.dimensions)
      if (dim.name == name) return true;
    for (const onnx::ValueInfo* input : inputs_) {
      const bool isInteger = input->type == static_cast<std::int32_t>(onnx::ElementType::kInt32) ||
                             input->type == static_cast<std::int32_t>(onnx::ElementType::kInt64);
      if (input->isTensor && isInteger && name.starts_with(std::string(input->name) + "[") &&
          name.ends_with(']'))
        return true;
      if (input->isTensor) continue;
      if (name.starts_with(std::string(input->name) + ".")) return true;
      for (const onnx::DeclaredDim& dim : input->shape.value_or(std::vector<onnx::DeclaredDim>()))
        if (!dim.value && dim.name == name) return true;
    }
    return false;
  }

  // Over all profiles: one program serves them.
  Status checkSizes(const std::string& dim) const {
    DimRange all;
    bool isFirst = true;
    for (const ShapeProfile& profile : spec_.profiles) {
      const auto given = profile.dims.find(dim);
      if (given == profile.dims.end()) continue;
      const DimRange& range = given->second;
      all.min = isFirst ? range.min : std::min(all.min, range.min);
      all.opt = isFirst ? range.opt : all.opt;
      all.max = isFirst ? range.max : std::max(all.max, range.max);
      isFirst = false;
    }
    return checkRange(dim, all);
  }

  // Why an input cannot be pinned to these values; "" where it can.
  std::string whyNotPinned(const std::string& name, const std::vector<PinValue>& values) const {
    std::vector<std::string> names;
    for (const onnx::ValueInfo* input : inputs_) {
      // Its elements are inputs of their own, "parts.0".
      if (!input->isTensor && (name == input->name || name.starts_with(std::string(input->name) + ".")))
        return "";
      names.emplace_back(input->name);
      if (name == input->name) return whyNotValue(*input, values);
    }
    return "the model has no input " + inQuotes(name) + " to pin" + orNearest(name, names);
  }

  static std::string whyNotValue(const onnx::ValueInfo& input, const std::vector<PinValue>& values) {
    const auto dtype = onnx::toDType(input.type);
    if (!dtype || !input.shape) return "";  // refused as an input
    if (const auto bytes = pinBytes(*dtype, values); !bytes)
      return "--pin " + printable(input.name) + ": " + bytes.error().message;
    std::uint64_t elements = 1;
    for (const onnx::DeclaredDim& dim : *input.shape) {
      if (!dim.value) return "";
      elements = *dim.value == 0
                     ? 0
                     : std::min<std::uint64_t>(elements, 1u << 20) * static_cast<std::uint64_t>(*dim.value);
    }
    if (elements == values.size()) return "";
    return fmt::format("--pin {}: {} values, the input has {} elements", printable(input.name), values.size(),
                       elements);
  }

  const onnx::Model& model_;
  onnx::Requirements needs_;
  const CompileSpec& spec_;
  std::vector<const onnx::ValueInfo*> inputs_;
};

}  // namespace

bool isOnnx(Bytes bytes) {
  return frontend::formatOf(bytes) == frontend::Format::kOther;
}

Result<onnx::Model> readModel(Bytes bytes, const std::string& name, const onnx::ExternalSizes& external) {
  auto model = onnx::readModel(bytes);
  const Status checked = model ? onnx::checkExternal(*model, external) : fail(model.error());
  if (checked) return model;
  Error error = checked.error().in(name);
  if (error.code == Code::kInvalidArgument) error.details = R"({"exitCode":3})";
  return fail(std::move(error));
}

Status checkGiven(const onnx::Model& model, const std::string& name, const CompileSpec& spec) {
  const Checker checker(model, spec);
  const std::vector<std::string> wrong = checker.wrong();
  const auto [open, flags] = checker.missing();
  std::string text;
  if (!wrong.empty()) text = "the options do not fit the model: " + listText(wrong, "; ");
  if (!open.empty())
    text += fmt::format(
        "{}the options leave {} of the model open: {}; give {}, a dimension as a number or as MIN:OPT:MAX",
        text.empty() ? "" : "; ", open.size(), listText(open, ", "), listText(flags, " "));
  if (text.empty()) return {};
  return fail(wrong.empty() ? Code::kUnimplemented : Code::kInvalidArgument,
              name + ": " + text + " (kiln inspect shows a whole command line)");
}

Status checkModel(Bytes bytes, const std::string& name, const CompileSpec& spec,
                  const onnx::ExternalSizes& external) {
  if (!isOnnx(bytes)) return {};
  KILN_ASSIGN(const onnx::Model model, readModel(bytes, name, external));
  return checkGiven(model, name, spec);
}

Status checkModelFile(const std::string& path, const CompileSpec& spec, const onnx::ExternalSizes& external) {
  KILN_ASSIGN(const auto file, MappedFile::open(path));
  return checkModel(file->bytes(), path, spec, external);
}

}  // namespace kiln::client
