#include "compiler_core/frontend/onnx/graph/node_context.h"

#include "compiler_core/frontend/onnx/reader/node_name.h"
#include "manifest/base/utf8.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> wrongType(std::string_view name, std::string_view expected) {
  return fail(Code::kInvalidArgument,
              "attribute '" + std::string(name) + "' is not " + std::string(expected));
}

// Operators put words that they do not know into messages.
Status checkWord(std::string_view name, std::string_view word) {
  if (isPlainText(word)) return {};
  return wrongType(name, "UTF-8 text without control characters");
}

}  // namespace

Result<Value> NodeContext::input(std::size_t index) const {
  if (!hasInput(index)) return fail(Code::kInvalidArgument, "input " + std::to_string(index) + " is missing");
  return inputs_[index];
}

const Attribute* NodeContext::attribute(std::string_view name) {
  for (const Attribute& attribute : node_.attributes) {
    if (attribute.name != name) continue;
    seen_.insert(attribute.name);  // the caller's may not last
    return &attribute;
  }
  return nullptr;
}

Result<std::int64_t> NodeContext::integer(std::string_view name, std::int64_t fallback) {
  const Attribute* found = attribute(name);
  if (!found) return fallback;
  if (found->i) return *found->i;
  // A zero may be left out of the wire format when the type says what is meant.
  if (found->type == 2) return 0;
  return wrongType(name, "an integer");
}

Result<float> NodeContext::real(std::string_view name, float fallback) {
  const Attribute* found = attribute(name);
  if (!found) return fallback;
  if (found->f) return *found->f;
  if (found->type == 1) return 0.0f;
  return wrongType(name, "a float");
}

Result<std::string> NodeContext::text(std::string_view name, std::string_view fallback) {
  const Attribute* found = attribute(name);
  if (!found) return std::string(fallback);
  if (found->s) {
    KILN_TRY(checkWord(name, *found->s));
    return std::string(*found->s);
  }
  if (found->type == 3) return std::string();
  return wrongType(name, "a string");
}

Result<std::vector<std::string_view>> NodeContext::texts(std::string_view name) {
  const Attribute* found = attribute(name);
  if (!found) return std::vector<std::string_view>();
  if (found->strings.empty() && found->type != 8 && found->type != 0)
    return wrongType(name, "a list of strings");
  for (const std::string_view word : found->strings) KILN_TRY(checkWord(name, word));
  return found->strings;
}

Result<Dims> NodeContext::integers(std::string_view name, llvm::ArrayRef<std::int64_t> fallback) {
  const Attribute* found = attribute(name);
  if (!found) return Dims(fallback);
  if (found->ints.empty() && found->type != 7 && found->type != 0)
    return wrongType(name, "a list of integers");
  return Dims(found->ints.begin(), found->ints.end());
}

Result<std::vector<float>> NodeContext::reals(std::string_view name, llvm::ArrayRef<float> fallback) {
  const Attribute* found = attribute(name);
  if (!found) return fallback.vec();
  if (found->floats.empty() && found->type != 6 && found->type != 0)
    return wrongType(name, "a list of floats");
  return found->floats;
}

Result<const Graph*> NodeContext::graph(std::string_view name) {
  const Attribute* found = attribute(name);
  if (!found || found->graphs.size() != 1)
    return fail(Code::kInvalidArgument, "attribute '" + std::string(name) + "' is no graph");
  return &found->graphs.front();
}

Result<Dims> NodeContext::constantInput(std::size_t index, std::string_view what) const {
  KILN_ASSIGN(Value value, input(index));
  if (auto integers = constantIntegers(value)) return std::move(*integers);
  return notConstant(what, value);
}

Result<Shape> NodeContext::symbolicInput(std::size_t index, std::string_view what) const {
  KILN_ASSIGN(Value value, input(index));
  if (auto integers = symbolicIntegers(value)) return std::move(*integers);
  return notConstant(what, value);
}

Result<std::optional<Dims>> NodeContext::integersByVersion(std::string_view name, std::size_t index,
                                                           std::int64_t since) {
  if (opset_ >= since) {
    if (!hasInput(index)) return std::optional<Dims>();
    KILN_ASSIGN(Dims values, constantInput(index, name));
    return std::optional(std::move(values));
  }
  if (!hasAttribute(name)) return std::optional<Dims>();
  KILN_ASSIGN(Dims values, integers(name, {}));
  return std::optional(std::move(values));
}

Result<Value> NodeContext::tensor(const Tensor& tensor) {
  return initializers_.import(builder(), location(), tensor, nodeLabel(node_));
}

Value NodeContext::table(mlir::Type element, std::vector<std::int64_t> shape,
                         const std::vector<double>& values) {
  std::vector<reference::Element> elements;
  elements.reserve(values.size());
  for (double value : values) elements.push_back({false, true, 0, value});
  return table(element, std::move(shape), elements);
}

Value NodeContext::table(mlir::Type element, std::vector<std::int64_t> shape,
                         const std::vector<reference::Element>& values) {
  const DType dtype = *ir::dtypeOf(element);
  const std::size_t width = dtypeBytes(dtype);
  auto bytes = std::make_shared<std::vector<std::uint8_t>>(values.size() * width);
  for (std::size_t i = 0; i < values.size(); ++i)
    reference::writeElement(dtype, bytes->data() + i * width, values[i]);
  return initializers_.add(builder(), location(),
                           {nodeLabel(node_), dtype, std::move(shape), Bytes(*bytes), bytes});
}

Result<std::vector<reference::Element>> NodeContext::numbers(const Tensor& tensor) const {
  KILN_ASSIGN(const ir::Weight data, initializers_.data(tensor));
  const std::size_t width = dtypeBytes(data.dtype);
  std::vector<reference::Element> elements;
  elements.reserve(data.bytes.size() / width);
  for (std::size_t at = 0; at < data.bytes.size(); at += width)
    elements.push_back(reference::readElement(data.dtype, data.bytes.data() + at));
  return elements;
}

Result<mlir::Type> NodeContext::widenInputs() {
  mlir::Type small;
  for (Value& input : inputs_) {
    if (!input || !(elementOf(input).isF16() || elementOf(input).isBF16())) continue;
    small = elementOf(input);
    KILN_ASSIGN(input, cast(input, mlir::Float32Type::get(context())));
  }
  return small;
}

Status NodeContext::checkAttributes() const {
  for (const Attribute& attribute : node_.attributes)
    if (!seen_.contains(attribute.name))
      return fail(Code::kUnimplemented, "attribute '" + std::string(attribute.name) + "' is not served");
  return {};
}

}  // namespace kiln::onnx
