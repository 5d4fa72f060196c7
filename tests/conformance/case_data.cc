#include "tests/conformance/case_data.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "compiler_core/frontend/onnx/reader/parse.h"
#include "compiler_core/frontend/onnx/reader/tensor_data.h"
#include "compiler_core/runtime/compare/compare.h"
#include "manifest/spec/onnx_wire.h"

namespace kiln::conformance {
namespace {

// Pinning is for operands such as axes, shapes and k, never for what a model computes with.
constexpr std::int64_t kMaxPinnedElements = 64;

// TypeProto's oneof: which file a value has. Field numbers are of onnx.proto.
enum class Kind { kTensor, kSequence, kOptional };

using FileHandle = std::shared_ptr<const MappedFile>;
using Files = std::vector<FileHandle>;

// The bytes of the first field `number` of a message, empty when it has none.
Result<Bytes> child(Bytes message, std::uint32_t number) {
  for (onnx::WireReader wire(message, message.data()); !wire.atEnd();) {
    KILN_ASSIGN(onnx::WireField field, wire.field());
    if (field.number == number && field.type == onnx::WireType::kBytes) return field.bytes;
  }
  return Bytes();
}

std::string_view textOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The kinds of the graph's inputs (field 11) and outputs (field 12), by name.
Result<std::map<std::string, Kind>> kindsOf(Bytes model) {
  std::map<std::string, Kind> kinds;
  KILN_ASSIGN(Bytes graph, child(model, 7));
  for (onnx::WireReader wire(graph, graph.data()); !wire.atEnd();) {
    KILN_ASSIGN(onnx::WireField field, wire.field());
    if (field.number != 11 && field.number != 12) continue;
    KILN_ASSIGN(Bytes name, child(field.bytes, 1));
    KILN_ASSIGN(Bytes type, child(field.bytes, 2));
    KILN_ASSIGN(Bytes sequence, child(type, 4));
    KILN_ASSIGN(Bytes optional, child(type, 9));
    KILN_ASSIGN(Bytes element, child(sequence, 1));
    KILN_ASSIGN(Bytes map, child(element, 5));
    if (!map.empty()) sequence = {};  // what ZipMap gives, which is a tensor here
    kinds[std::string(textOf(name))] = !sequence.empty()   ? Kind::kSequence
                                       : !optional.empty() ? Kind::kOptional
                                                           : Kind::kTensor;
  }
  return kinds;
}

Result<NamedTensor> tensorOf(const std::string& name, Bytes bytes, const FileHandle& file) {
  KILN_ASSIGN(onnx::Tensor tensor, onnx::parseTensor(bytes));
  if (tensor.type == static_cast<std::int32_t>(onnx::ElementType::kString)) {
    NamedTensor made{name, HostTensor::zeros(DType::kI64, tensor.dims), {}};
    made.texts.assign(tensor.strings.begin(), tensor.strings.end());
    if (static_cast<std::int64_t>(made.texts.size()) != made.tensor.elements())
      return fail(Code::kInvalidArgument, "a tensor of strings has not as many as its shape says");
    return made;
  }
  onnx::ExternalData none("");
  KILN_ASSIGN(ir::Weight weight, onnx::tensorData(tensor, file, none));
  return NamedTensor{name, {weight.dtype, weight.shape, {weight.bytes.begin(), weight.bytes.end()}}, {}};
}

// SequenceProto: tensors in field 3. OptionalProto: a tensor in field 3 or a sequence in field 5.
Status append(const std::string& name, Kind kind, Bytes bytes, const FileHandle& file,
              std::vector<NamedTensor>& out) {
  if (kind == Kind::kTensor) {
    KILN_ASSIGN(NamedTensor tensor, tensorOf(name, bytes, file));
    out.push_back(std::move(tensor));
    return {};
  }
  std::size_t next = 0;
  for (onnx::WireReader wire(bytes, bytes.data()); !wire.atEnd();) {
    KILN_ASSIGN(onnx::WireField field, wire.field());
    if (field.type != onnx::WireType::kBytes || field.number == 1) continue;
    if (field.number == 3)
      KILN_TRY(append(kind == Kind::kSequence ? name + "." + std::to_string(next++) : name, Kind::kTensor,
                      field.bytes, file, out));
    else if (field.number == 5 && kind == Kind::kOptional)
      KILN_TRY(append(name, Kind::kSequence, field.bytes, file, out));
    else
      return fail(Code::kUnimplemented, "values of this kind are not served");
  }
  return {};
}

Result<Files> openFiles(const std::string& directory, const std::string& stem) {
  Files files;
  for (int i = 0;; ++i) {
    const std::string path = directory + "/" + stem + "_" + std::to_string(i) + ".pb";
    if (!std::filesystem::exists(path)) return files;
    KILN_ASSIGN(auto file, MappedFile::open(path));
    files.push_back(std::move(file));
  }
}

// Inputs that are initializers too keep their default when the case gives no file for them.
std::vector<const onnx::ValueInfo*> fedInputs(const onnx::Graph& graph, std::size_t files) {
  std::vector<const onnx::ValueInfo*> all, required;
  std::set<std::string_view> defaults;
  for (const onnx::Tensor& tensor : graph.initializers) defaults.insert(tensor.name);
  for (const onnx::ValueInfo& input : graph.inputs) {
    all.push_back(&input);
    if (!defaults.contains(input.name)) required.push_back(&input);
  }
  return files == required.size() ? required : all;
}

Result<NamedTensor> lightInput(const onnx::ValueInfo& input) {
  if (!input.shape) return fail(Code::kInvalidArgument, "a light network's input has no shape");
  std::vector<std::int64_t> shape;
  for (const onnx::DeclaredDim& dim : *input.shape) shape.push_back(dim.value.value_or(1));
  NamedTensor made{std::string(input.name), HostTensor::zeros(DType::kF32, shape)};
  const std::int64_t count = made.tensor.elements();
  for (std::int64_t i = 0; i < count; ++i)
    made.tensor.data<float>()[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(count));
  return made;
}

bool isInteger(DType dtype) {
  return dtype != DType::kBool && dtypeName(dtype).find_first_of("iu") == 0;
}

Result<Pins> pinOf(const NamedTensor& input) {
  const HostTensor& tensor = input.tensor;
  const std::vector<PinValue> values =
      pinValues(tensor.dtype, tensor.bytes.data(), static_cast<std::size_t>(tensor.elements()));
  KILN_TRY(pinBytes(tensor.dtype, values));
  return Pins{{input.name, values}};
}

const NamedTensor* find(const std::vector<NamedTensor>& tensors, std::string_view name) {
  for (const NamedTensor& tensor : tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

}  // namespace

Result<CaseData> readData(const Case& one) {
  KILN_ASSIGN(onnx::LoadedModel loaded, onnx::loadModel(one.model));
  const onnx::Graph& graph = loaded.model.graph;
  CaseData data;
  if (one.data.empty()) {
    for (const onnx::ValueInfo* input : fedInputs(graph, 1)) {
      KILN_ASSIGN(NamedTensor made, lightInput(*input));
      data.inputs.push_back(std::move(made));
    }
    KILN_ASSIGN(auto file, MappedFile::open(one.output));
    if (graph.outputs.empty()) return fail(Code::kInvalidArgument, "a network without an output");
    KILN_TRY(append(std::string(graph.outputs[0].name), Kind::kTensor, file->bytes(), file, data.outputs));
    return data;
  }
  KILN_ASSIGN(auto kinds, kindsOf(loaded.file->bytes()));
  KILN_ASSIGN(Files inputs, openFiles(one.data, "input"));
  KILN_ASSIGN(Files outputs, openFiles(one.data, "output"));
  const auto fed = fedInputs(graph, inputs.size());
  for (std::size_t i = 0; i < inputs.size() && i < fed.size(); ++i) {
    const std::string name(fed[i]->name);
    auto read = append(name, kinds[name], inputs[i]->bytes(), inputs[i], data.inputs);
    if (!read) return fail(read.error().in("input_" + std::to_string(i) + ".pb"));
  }
  for (std::size_t i = 0; i < outputs.size() && i < graph.outputs.size(); ++i) {
    const std::string name(graph.outputs[i].name);
    auto read = append(name, kinds[name], outputs[i]->bytes(), outputs[i], data.outputs);
    if (!read) return fail(read.error().in("output_" + std::to_string(i) + ".pb"));
  }
  return data;
}

void placeTexts(CaseData& data, const std::vector<std::string>& strings) {
  const auto place = [&](const std::string& text) -> std::int64_t {
    const auto at = std::lower_bound(strings.begin(), strings.end(), text);
    return at != strings.end() && *at == text ? at - strings.begin() : -1;
  };
  for (std::vector<NamedTensor>* side : {&data.inputs, &data.outputs})
    for (NamedTensor& one : *side)
      std::transform(one.texts.begin(), one.texts.end(), one.tensor.data<std::int64_t>(), place);
}

analysis::DimValues dimsOf(const onnx::Model& model, const std::vector<NamedTensor>& inputs) {
  analysis::DimValues dims;
  for (const onnx::ValueInfo& input : model.graph.inputs) {
    const NamedTensor* given = find(inputs, input.name);
    if (!given || !input.shape) continue;
    const auto& shape = given->tensor.shape;
    for (std::size_t i = 0; i < input.shape->size() && i < shape.size(); ++i) {
      const onnx::DeclaredDim& dim = (*input.shape)[i];
      const std::string name =
          dim.name.empty() ? std::string(input.name) + "." + std::to_string(i) : std::string(dim.name);
      if (!dim.value) dims[name] = shape[i];
    }
  }
  return dims;
}

Composites sequencesOf(const onnx::Model& model, const std::vector<NamedTensor>& inputs) {
  Composites sequences;
  for (const onnx::ValueInfo& info : model.graph.inputs) {
    if (info.containers.empty()) continue;
    const std::string name(info.name);
    Composite held;
    if (const NamedTensor* tensor = find(inputs, name)) held.tensors.push_back(tensor->tensor.shape);
    while (const NamedTensor* tensor = find(inputs, name + "." + std::to_string(held.tensors.size())))
      held.tensors.push_back(tensor->tensor.shape);
    held.present = !held.tensors.empty() || info.containers.front() == onnx::Container::kSequence;
    sequences.emplace(name, std::move(held));
  }
  return sequences;
}

Pins pinsAskedFor(const std::string& reason, const std::vector<NamedTensor>& inputs, const Pins& given) {
  Pins pins;
  if (reason.find("must be known at compile time") == std::string::npos) return pins;
  const auto add = [&](const NamedTensor& input) {
    if (given.contains(input.name) || input.tensor.elements() > kMaxPinnedElements) return;
    if (auto pin = pinOf(input)) pins.merge(*pin);
  };
  for (const NamedTensor& input : inputs)
    if (reason.find("--pin " + input.name + "=") != std::string::npos) add(input);
  if (!pins.empty()) return pins;
  for (const NamedTensor& input : inputs)
    if (isInteger(input.tensor.dtype) && input.tensor.shape.size() <= 1) add(input);
  return pins;
}

bool isRandom(const onnx::Model& model, const std::vector<NamedTensor>& inputs) {
  static const std::set<std::string_view> kRandom = {
      "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  for (const onnx::Node& node : model.graph.nodes) {
    if (kRandom.contains(node.op)) return true;
    // Dropout in training mode, unless it drops nothing.
    if (node.op != "Dropout" || node.inputs.size() < 3 || node.inputs[2].empty()) continue;
    const NamedTensor* ratio = find(inputs, node.inputs[1]);
    const bool keepsAll = ratio && std::all_of(ratio->tensor.bytes.begin(), ratio->tensor.bytes.end(),
                                               [](std::uint8_t byte) { return byte == 0; });
    if (!keepsAll) return true;
  }
  return false;
}

Status compareTypes(const std::vector<NamedTensor>& got, const std::vector<NamedTensor>& expected) {
  if (got.size() != expected.size())
    return fail(Code::kDataLoss, "the program has " + std::to_string(got.size()) + " outputs, expected " +
                                     std::to_string(expected.size()));
  const auto typeText = [](const HostTensor& tensor) {
    std::string text(dtypeName(tensor.dtype));
    text += "[";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i)
      text += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
    return text + "]";
  };
  for (const NamedTensor& want : expected) {
    const NamedTensor* have = find(got, want.name);
    if (!have) return fail(Code::kDataLoss, "the program has no output '" + want.name + "'");
    if (have->tensor.dtype != want.tensor.dtype || have->tensor.shape != want.tensor.shape)
      return fail(Code::kDataLoss, "output '" + want.name + "' is " + typeText(have->tensor) + ", expected " +
                                       typeText(want.tensor));
  }
  return {};
}

Status compareAll(const std::vector<NamedTensor>& got, const std::vector<NamedTensor>& expected,
                  Tolerance tolerance) {
  KILN_TRY(compareTypes(got, expected));
  for (const NamedTensor& want : expected) {
    const HostTensor& have = find(got, want.name)->tensor;
    KILN_ASSIGN(runtime::Comparison comparison, runtime::compare(have.dtype, have.bytes, want.tensor.bytes,
                                                                 {tolerance.relative, tolerance.absolute}));
    if (!comparison.passed())
      return fail(Code::kDataLoss, "output '" + want.name + "': " + comparison.text());
  }
  return {};
}

}  // namespace kiln::conformance
