#include "tests/conformance/random/graph.h"

#include <algorithm>
#include <cmath>

namespace kiln::conformance::random {
namespace {

int onnxType(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return testing_support::kOnnxDouble;
    case DType::kI32:
      return testing_support::kOnnxInt32;
    case DType::kI64:
      return testing_support::kOnnxInt64;
    case DType::kBool:
      return testing_support::kOnnxBool;
    default:
      return testing_support::kOnnxFloat;
  }
}

HostTensor randomTensor(Random& random, DType dtype, const Shape& shape, double low, double high) {
  HostTensor tensor = HostTensor::zeros(dtype, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = random.real(low, high);
    switch (dtype) {
      case DType::kF64:
        tensor.data<double>()[i] = value;
        break;
      case DType::kI32:
        tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(std::floor(value));
        break;
      case DType::kI64:
        tensor.data<std::int64_t>()[i] = static_cast<std::int64_t>(std::floor(value));
        break;
      case DType::kBool:
        tensor.data<std::uint8_t>()[i] = value > (low + high) / 2;
        break;
      default:
        tensor.data<float>()[i] = static_cast<float>(value);
    }
  }
  return tensor;
}

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
}

double Random::real(double low, double high) {
  return low + (high - low) * (static_cast<double>(next() >> 40) / 16777216.0);
}

std::int64_t Value::elements() const {
  std::int64_t count = 1;
  for (std::int64_t dim : shape) count *= dim;
  return count;
}

Graph::Graph(Random& random, std::int64_t opset) : random_(random), opset_(opset), builder_(opset) {
  if (random.chance(40)) {
    analysis::ProfileDim& n = model_.symbol.emplace();
    n.name = "N";
    n.min = random.between(1, 4);
    n.opt = n.min + random.between(0, 4);
    n.max = n.opt + random.between(1, 12);
    model_.size = random.oneOf<std::int64_t>({n.min, n.opt, n.max, random.between(n.min, n.max)});
  }
  const std::int64_t inputs = random.between(1, 3);
  for (std::int64_t i = 0; i < inputs; ++i) addInput();
}

void Graph::addInput() {
  static const std::vector<DType> kTypes = {DType::kF32, DType::kF32, DType::kF32, DType::kF32, DType::kF32,
                                            DType::kF64, DType::kI64, DType::kI32, DType::kBool};
  Value input{
      .name = "in" + std::to_string(model_.inputs.size()), .dtype = random_.oneOf(kTypes), .isInput = true};
  // The first is always f32, so that every rule has something to work on.
  if (model_.inputs.empty()) input.dtype = DType::kF32;
  input.bound = input.dtype == DType::kBool ? 1 : 4;
  const std::int64_t rank = random_.between(model_.inputs.empty() ? 1 : 0, 4);
  std::vector<testing_support::OnnxDim> dims;
  // Mostly the batch.
  if (model_.symbol && rank > 0) {
    input.symbolic = random_.chance(60) ? 0 : random_.between(0, rank - 1);
    input.least = model_.symbol->min;
  }
  for (std::int64_t i = 0; i < rank; ++i) {
    if (input.varies(i)) {
      input.shape.push_back(model_.size);
      dims.emplace_back("N");
      continue;
    }
    // Mostly small; now and then beyond one vector or one tile.
    const std::int64_t dim = random_.chance(12) ? random_.between(15, 70) : random_.between(1, 6);
    input.shape.push_back(input.elements() * dim <= kMaxElements ? dim : 1);
    dims.emplace_back(input.shape.back());
  }
  builder_.input(input.name, dims, onnxType(input.dtype));
  model_.inputNames.push_back(input.name);
  model_.inputs.push_back(randomTensor(random_, input.dtype, input.shape, -input.bound, input.bound));
  values_.push_back(std::move(input));
}

const Value* Graph::pick(const std::function<bool(const Value&)>& fits) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (fits(values_[i])) found.push_back(i);
  if (found.empty()) return nullptr;
  // The later half twice as often, so that graphs grow deep.
  const std::size_t half = random_.chance(50) ? found.size() / 2 : 0;
  const auto last = static_cast<std::int64_t>(found.size()) - 1;
  return &values_[found[static_cast<std::size_t>(random_.between(static_cast<std::int64_t>(half), last))]];
}

Value Graph::constant(DType dtype, const Shape& shape, double low, double high) {
  Value value{.name = "c" + std::to_string(names_++),
              .dtype = dtype,
              .shape = shape,
              .bound = std::max(std::fabs(low), std::fabs(high))};
  const HostTensor tensor = randomTensor(random_, dtype, shape, low, high);
  ProtoMessage message;
  for (std::int64_t dim : shape) message.varint(1, static_cast<std::uint64_t>(dim));
  message.varint(2, static_cast<std::uint64_t>(onnxType(dtype))).text(8, value.name);
  message.text(9, {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
  builder_.initializer(message);
  return value;
}

std::string Graph::integers(const std::vector<std::int64_t>& values) {
  std::string name = "c" + std::to_string(names_++);
  builder_.initializer(testing_support::onnxTensor(name, {static_cast<std::int64_t>(values.size())}, values));
  return name;
}

std::string Graph::reals(const std::vector<double>& values) {
  std::string name = "c" + std::to_string(names_++);
  builder_.initializer(testing_support::onnxTensor(name, {static_cast<std::int64_t>(values.size())},
                                                   std::vector<float>(values.begin(), values.end())));
  return name;
}

std::vector<Value> Graph::nodes(std::string_view op, const std::vector<std::string>& inputs,
                                std::vector<Value> results, const std::vector<ProtoMessage>& attributes) {
  std::vector<std::string> names;
  for (Value& result : results) {
    result.name = "v" + std::to_string(names_++);
    result.isInput = result.used = false;
    names.push_back(result.name);
  }
  builder_.node(op, inputs, names, attributes, std::string(op) + std::to_string(names_));
  for (Value& value : values_)
    if (std::find(inputs.begin(), inputs.end(), value.name) != inputs.end()) value.used = true;
  values_.insert(values_.end(), results.begin(), results.end());
  model_.operators.emplace_back(op);
  return results;
}

Value Graph::node(std::string_view op, const std::vector<std::string>& inputs, Value result,
                  const std::vector<ProtoMessage>& attributes) {
  return nodes(op, inputs, {std::move(result)}, attributes).front();
}

Model Graph::finish() {
  for (const Value& value : values_) {
    if (value.isInput || (value.used && !random_.chance(10))) continue;
    builder_.output(value.name, onnxType(value.dtype));
    model_.outputs.emplace_back(value.name, 8 * value.error);
  }
  model_.bytes = builder_.build();
  return std::move(model_);
}

}  // namespace kiln::conformance::random
