#include "tests/conformance/dynamic/dynamic_case.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/conformance/dynamic/poisoned_run.h"
#include "tests/conformance/dynamic/symbolise.h"

namespace kiln::conformance {
namespace {

using Tensors = std::vector<NamedTensor>;
using Sizes = std::vector<std::int64_t>;  // of the symbols, in order

// Dimensions of one name, "<input>.<axis>" of the first of them.
struct Symbol {
  std::string name;
  std::int64_t size = 1;                                    // the case's own
  std::vector<std::pair<std::string, std::size_t>> places;  // input, axis
};
using Symbols = std::vector<Symbol>;

// The elements of `tensor`, repeated or cut to `shape`.
HostTensor resized(const HostTensor& tensor, const Sizes& shape) {
  HostTensor result = HostTensor::zeros(tensor.dtype, shape);
  const std::size_t width = dtypeBytes(tensor.dtype);
  const std::int64_t count = result.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, source = 0, stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      source += rest % shape[axis] % tensor.shape[axis] * stride;
      rest /= shape[axis];
      stride *= tensor.shape[axis];
    }
    std::copy_n(
        tensor.bytes.begin() + static_cast<std::ptrdiff_t>(source) * static_cast<std::ptrdiff_t>(width),
        width, result.bytes.begin() + static_cast<std::ptrdiff_t>(i) * static_cast<std::ptrdiff_t>(width));
  }
  return result;
}

Tensors inputsAt(const Tensors& inputs, const Symbols& symbols, const Sizes& sizes) {
  Tensors result;
  for (const NamedTensor& input : inputs) {
    Sizes shape = input.tensor.shape;
    for (std::size_t s = 0; s < symbols.size(); ++s)
      for (const auto& [name, axis] : symbols[s].places)
        if (name == input.name) shape[axis] = sizes[s];
    result.push_back({input.name, shape == input.tensor.shape ? input.tensor : resized(input.tensor, shape)});
  }
  return result;
}

std::string textOf(const Symbols& symbols, const Sizes& sizes) {
  std::string text;
  for (std::size_t i = 0; i < symbols.size(); ++i)
    text += (i > 0 ? " " : "") + symbols[i].name + "=" + std::to_string(sizes[i]);
  return text;
}

// What a case could vary.
Symbols symbolsOf(const onnx::Model& model, const Tensors& inputs, const Pins& pins) {
  Symbols symbols;
  bool first = true;
  for (const onnx::ValueInfo& info : model.graph.inputs) {
    const auto input = std::ranges::find(inputs, info.name, &NamedTensor::name);
    if (input == inputs.end() || !info.shape || !info.isTensor || pins.contains(input->name)) continue;
    const Sizes& shape = input->tensor.shape;
    if (info.shape->size() != shape.size() || std::ranges::find(shape, 0) != shape.end()) continue;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool batch = first && axis == 0 && shape.size() > 1 && shape[axis] == 1;
      if (shape[axis] < 2 && !batch) continue;
      auto same = std::ranges::find(symbols, shape[axis], &Symbol::size);
      if (same == symbols.end()) {
        symbols.push_back({input->name + "." + std::to_string(axis), shape[axis], {}});
        same = symbols.end() - 1;
      }
      same->places.emplace_back(input->name, axis);
    }
    first = false;
  }
  return symbols;
}

struct Span {
  Sizes min, max;
};

// Wide; about the case's own size; upwards of it.
std::vector<Span> spansOf(const Symbols& symbols) {
  std::vector<Span> spans(3);
  std::int64_t spread = 3;  // differs between symbols, so that they do not meet at an end
  for (const Symbol& symbol : symbols) {
    const std::int64_t size = symbol.size;
    spans[0].min.push_back(1);
    spans[0].max.push_back(size + spread);
    spans[1].min.push_back(std::max<std::int64_t>(1, size - 1));
    spans[1].max.push_back(size + 1);
    spans[2].min.push_back(size);
    spans[2].max.push_back(size + spread);
    ++spread;
  }
  return spans;
}

class Checker {
 public:
  Checker(const Case& one, const CompileOptions& options, DynamicResult& result)
      : one_(one), options_(options), result_(result) {}

  // An error is a wrong answer; what is refused goes into the result.
  Status run();

 private:
  // Whether `symbols` are served in some range; notes that, and why not if asked to.
  Result<bool> check(const Symbols& symbols, bool note);
  // One extent; where it is not served as such, in each input and dimension by itself.
  Status checkAlone(const Symbol& symbol);
  enum class Tried { kServed, kRefused, kImpossible };
  Result<Tried> tryRange(const Symbols& symbols, const Span& span, std::string& reason);
  Status compare(const Symbols& symbols, const Span& span, const std::vector<Sizes>& runs,
                 const std::vector<Tensors>& expected);
  Status checkGuards(runtime::Session& session, const Symbols& symbols, const Span& span);
  // The outputs of the static compile; kUnimplemented where the model does not exist at these sizes.
  Result<Tensors> staticAt(const Symbols& symbols, const Sizes& sizes);
  Result<Tensors> staticRun(const std::string& model, const Tensors& inputs);
  Status write(const Symbols& symbols);
  CompileOptions in(const char* folder) const;

  const Case& one_;
  const CompileOptions& options_;
  DynamicResult& result_;
  onnx::LoadedModel loaded_;
  CaseData data_;
  Pins pins_;
  bool random_ = false;
  std::string model_;                              // path of the one with symbols
  std::map<std::string, Result<Tensors>> static_;  // outputs by the inputs' shapes
};

CompileOptions Checker::in(const char* folder) const {
  CompileOptions options = options_;
  options.scratch += std::string("/") + folder;
  std::filesystem::create_directory(options.scratch);
  return options;
}

Status Checker::run() {
  auto data = readData(one_);
  auto loaded = onnx::loadModel(one_.model);
  if (!data || !loaded) {
    result_.excluded = "not served: " + (data ? loaded.error() : data.error()).message;
    return {};
  }
  data_ = std::move(*data);
  loaded_ = std::move(*loaded);
  random_ = isRandom(loaded_.model, data_.inputs);
  model_ = one_.model;
  if (auto own = staticAt({}, {}); !own) {
    if (own.error().code != Code::kUnimplemented) return fail(own.error());
    result_.excluded = "not served: " + own.error().message;
    return {};
  }
  const Symbols all = symbolsOf(loaded_.model, data_.inputs, pins_);
  if (all.empty()) {
    result_.excluded = "no input has a dimension to vary";
    return {};
  }
  model_ = options_.scratch + "/symbolic.onnx";
  KILN_ASSIGN(const bool together, check(all, false));
  if (!together) {
    for (const Symbol& symbol : all) KILN_TRY(checkAlone(symbol));
  }
  if (result_.dims.empty()) result_.excluded = "the case's constants fix its shapes";
  return {};
}

Status Checker::checkAlone(const Symbol& symbol) {
  const bool last = symbol.places.size() == 1;
  KILN_ASSIGN(const bool served, check({symbol}, last));
  if (served || last) return {};
  const bool oneInput = symbol.places.front().first == symbol.places.back().first;
  for (std::size_t first = 0, end = 0; first < symbol.places.size(); first = end) {
    while (end < symbol.places.size() && (end == first || !oneInput) &&
           symbol.places[end].first == symbol.places[first].first)
      ++end;
    const auto& [input, axis] = symbol.places[first];
    const Symbol part{input + "." + std::to_string(axis),
                      symbol.size,
                      {symbol.places.begin() + static_cast<std::ptrdiff_t>(first),
                       symbol.places.begin() + static_cast<std::ptrdiff_t>(end)}};
    KILN_TRY(checkAlone(part));
  }
  return {};
}

Status Checker::write(const Symbols& symbols) {
  SymbolNames names;
  for (const Symbol& symbol : symbols)
    for (const auto& [input, axis] : symbol.places) names[input][axis] = symbol.name;
  KILN_ASSIGN(const std::string bytes, symbolise(loaded_.file->bytes(), names));
  std::ofstream(model_, std::ios::binary) << bytes;
  return {};
}

Result<Tensors> Checker::staticRun(const std::string& model, const Tensors& inputs) {
  KILN_ASSIGN(const onnx::LoadedModel loaded, onnx::loadModel(model));
  const Given given = {dimsOf(loaded.model, inputs), sequencesOf(loaded.model, inputs)};
  const CompileOptions options = in("static");
  // Pins are those of the case as it is.
  const Status compiled = model == one_.model ? compileOrPin(model, inputs, given, options, pins_)
                                              : compileModel(model, given, pins_, options);
  if (!compiled) {
    Error error = compiled.error();
    if (error.code == Code::kInvalidArgument) error.code = Code::kUnimplemented;
    return fail(error);
  }
  auto got = runArtifact(options.scratch + "/artifact", inputs);
  // An index of the case that is out of range in a smaller tensor.
  if (!got && got.error().code == Code::kInvalidArgument)
    return fail(Code::kUnimplemented, got.error().message);
  return got;
}

Result<Tensors> Checker::staticAt(const Symbols& symbols, const Sizes& sizes) {
  const Tensors inputs = inputsAt(data_.inputs, symbols, sizes);
  std::string shapes;
  for (const NamedTensor& input : inputs)
    for (const std::int64_t dim : input.tensor.shape) shapes += std::to_string(dim) + " ";
  // A repeated size needs no second compile: the symbols' names make no difference to a static program.
  auto known = static_.find(shapes);
  if (known == static_.end()) known = static_.emplace(shapes, staticRun(model_, inputs)).first;
  return known->second;
}

Result<bool> Checker::check(const Symbols& symbols, bool note) {
  KILN_TRY(write(symbols));
  std::string reason;
  for (const Span& span : spansOf(symbols)) {
    KILN_ASSIGN(const Tried tried, tryRange(symbols, span, reason));
    if (tried != Tried::kServed) continue;
    for (std::size_t i = 0; i < symbols.size(); ++i)
      result_.dims.push_back(
          {symbols[i].name + " from " + std::to_string(span.min[i]) + " to " + std::to_string(span.max[i]),
           ""});
    return true;
  }
  if (note && !reason.empty()) result_.dims.push_back({symbols[0].name, reason});
  return false;
}

Result<Checker::Tried> Checker::tryRange(const Symbols& symbols, const Span& span, std::string& reason) {
  Sizes own;
  for (const Symbol& symbol : symbols) own.push_back(symbol.size);
  const std::vector<Sizes> runs = {span.min, own, span.max};
  std::vector<Tensors> expected;
  for (const Sizes& sizes : runs) {
    auto outputs = staticAt(symbols, sizes);
    if (!outputs && outputs.error().code == Code::kUnimplemented) return Tried::kImpossible;
    if (!outputs) return fail(outputs.error().in("static at " + textOf(symbols, sizes)));
    expected.push_back(std::move(*outputs));
  }
  KILN_ASSIGN(const onnx::LoadedModel loaded, onnx::loadModel(model_));
  Given given = {dimsOf(loaded.model, data_.inputs), sequencesOf(loaded.model, data_.inputs)};
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    given.dims.erase(symbols[i].name);
    given.ranges.push_back({symbols[i].name, span.min[i], own[i], span.max[i]});
  }
  Pins pins = pins_;
  if (auto compiled = compileOrPin(model_, data_.inputs, given, in("dynamic"), pins); !compiled) {
    if (compiled.error().code != Code::kUnimplemented)
      return fail(compiled.error().in("dynamic from " + textOf(symbols, span.min) + " to " +
                                      textOf(symbols, span.max)));
    reason = compiled.error().message;
    return Tried::kRefused;
  }
  KILN_TRY(compare(symbols, span, runs, expected));
  return Tried::kServed;
}

Status Checker::compare(const Symbols& symbols, const Span& span, const std::vector<Sizes>& runs,
                        const std::vector<Tensors>& expected) {
  const std::string artifact = options_.scratch + "/dynamic/artifact";
  KILN_ASSIGN(runtime::Session session, openSession(artifact));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string place = "at " + textOf(symbols, runs[i]);
    const Tensors inputs = inputsAt(data_.inputs, symbols, runs[i]);
    const auto same = [&](const char* how, const Result<Tensors>& got) -> Status {
      if (!got) return fail(got.error().in(how));
      if (random_) return compareTypes(*got, expected[i]);
      if (auto close = compareAll(*got, expected[i], one_.tolerance); !close)
        return fail(close.error().in(how));
      return {};
    };
    const auto got = runSession(session, inputs);
    if (auto right = same("the runtime", got); !right) return fail(right.error().in(place));
    if (!isForDevice(options_))
      if (auto right = same("in poisoned memory", poisonedRun(artifact, inputs)); !right)
        return fail(right.error().in(place));
    ++result_.runs;
    result_.sameBits += std::ranges::equal(*got, expected[i], {}, &NamedTensor::tensor, &NamedTensor::tensor);
  }
  return checkGuards(session, symbols, span);
}

Status Checker::checkGuards(runtime::Session& session, const Symbols& symbols, const Span& span) {
  for (std::size_t i = 0; i < symbols.size(); ++i)
    for (const std::int64_t outside : {span.min[i] - 1, span.max[i] + 1}) {
      if (outside < 1) continue;
      Sizes sizes = span.max;
      sizes[i] = outside;
      const auto got = runSession(session, inputsAt(data_.inputs, symbols, sizes));
      const std::string value = symbols[i].name + " is " + std::to_string(outside);
      const std::string range =
          symbols[i].name + " from " + std::to_string(span.min[i]) + " to " + std::to_string(span.max[i]);
      const auto says = [&](const std::string& text) {
        return got.error().message.find(text) != std::string::npos;
      };
      if (got) return fail(Code::kDataLoss, value + ", outside the profile, and the program runs");
      if (got.error().code != Code::kOutOfRange || !says(value) || !says(range))
        return fail(Code::kDataLoss,
                    value + ", outside the profile, and the error says: " + got.error().message);
    }
  return {};
}

}  // namespace

bool DynamicResult::served() const {
  return std::ranges::any_of(dims, [](const DynamicDims& one) { return one.reason.empty(); });
}
bool DynamicResult::refused() const {
  return std::ranges::any_of(dims, [](const DynamicDims& one) { return !one.reason.empty(); });
}

DynamicResult dynamicCase(const Case& one, const CompileOptions& options) {
  DynamicResult result;
  if (auto right = Checker(one, options, result).run(); !right) result.wrong = right.error().message;
  return result;
}

}  // namespace kiln::conformance
