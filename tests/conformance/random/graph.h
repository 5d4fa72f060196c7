// A random valid ONNX graph under construction. The same seed gives the same model on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/reference/host_tensor.h"
#include "tests/support/onnx_builder.h"

namespace kiln::conformance::random {

using reference::HostTensor;
using testing_support::ProtoMessage;
using Shape = std::vector<std::int64_t>;

// splitmix64: the standard library's distributions differ between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t next();
  std::int64_t between(std::int64_t low, std::int64_t high);  // both included
  double real(double low, double high);
  bool chance(int percent) { return between(0, 99) < percent; }
  template <class T>
  const T& oneOf(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(list.size()) - 1))];
  }

 private:
  std::uint64_t state_;
};

// What is known of a value. `bound` and `error` limit its magnitude and how far two right evaluations may be
// apart (rounding, contraction), so that rules stay where results can be compared.
struct Value {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  // in this run
  // The dimension that differs between runs, -1 for none; the least that the profile lets it be; and which
  // expression over N it is (0: N itself): only dimensions of one are the same in every run.
  std::int64_t symbolic = -1, least = 0;
  int extent = 0;
  double bound = 1;
  double error = 0;  // 0: every evaluation gives the same bits
  bool isInput = false;
  bool used = false;

  std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }
  std::int64_t elements() const;
  bool varies(std::int64_t axis) const { return symbolic >= 0 && symbolic == axis; }
  // What dimension `axis` is at least in every run.
  std::int64_t leastOf(std::int64_t axis) const {
    return varies(axis) ? least : shape[static_cast<std::size_t>(axis)];
  }
};

struct Model {
  std::string bytes;
  std::vector<std::string> inputNames;
  std::vector<HostTensor> inputs;                       // in order
  std::vector<std::pair<std::string, double>> outputs;  // name, absolute tolerance
  std::optional<analysis::ProfileDim> symbol;           // when the model has a symbolic dimension
  std::int64_t size = 0;               // what it is in the run: an end of the range, opt or between
  std::vector<std::string> operators;  // used, in order
};

class Graph {
 public:
  Graph(Random& random, std::int64_t opset);

  Random& random() { return random_; }
  std::int64_t opset() const { return opset_; }
  // A random value that `fits`, or null.
  const Value* pick(const std::function<bool(const Value&)>& fits);
  // A new initializer, uniform in [low, high].
  Value constant(DType dtype, const Shape& shape, double low, double high);
  std::string integers(const std::vector<std::int64_t>& values);
  std::string reals(const std::vector<double>& values);
  // Adds a node with one result like `result` (its name is made here) and returns the result.
  Value node(std::string_view op, const std::vector<std::string>& inputs, Value result,
             const std::vector<ProtoMessage>& attributes = {});
  // The same with several results.
  std::vector<Value> nodes(std::string_view op, const std::vector<std::string>& inputs,
                           std::vector<Value> results, const std::vector<ProtoMessage>& attributes = {});
  // Of a dimension that is calculated from N.
  int newExtent() { return ++extents_; }
  Model finish();

 private:
  void addInput();

  Random& random_;
  std::int64_t opset_;
  testing_support::OnnxBuilder builder_;
  std::vector<Value> values_;
  Model model_;
  int names_ = 0, extents_ = 0;
};

// The rounding error of one operation on f32, per unit of magnitude; generous.
inline constexpr double kRounding = 1e-6;
// Larger values and errors are not computed with further.
inline constexpr std::int64_t kMaxElements = 20000;
inline constexpr double kMaxBound = 1e5, kMaxRelativeError = 1e-2;

}  // namespace kiln::conformance::random
