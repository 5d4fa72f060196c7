// The view that the function of a node has of it: arguments by the names of ATen's schema with their kinds
// checked, declared results, and the builder.
#pragma once

#include <set>

#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/graph/graph_builder.h"
#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/torch/program/program.h"

namespace kiln::torch {

using frontend::Dims;
using frontend::dimsOf;
using frontend::elementOf;
using frontend::isFloat;
using frontend::normalAxes;
using frontend::normalAxis;
using frontend::rankOf;
using frontend::Shape;
using frontend::ShapeArg;
using frontend::shapeText;
using frontend::Term;
using frontend::Value;
using frontend::Values;
using ir::Dim;

// What a node's names stand for; the importer's part.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual Result<Value> tensor(std::string_view name) = 0;
  // Over the symbols of the module. kUnimplemented where the expression has none.
  virtual Result<Dim> extent(const Expression& expression) const = 0;
  // What an inner graph returns for `arguments`; its nodes are made where the builder stands. nullopt:
  // something in it is not served, which has been noted.
  virtual Result<std::optional<Values>> body(const Graph& graph, const Values& arguments) = 0;
};

// A node where it stands.
struct NodeUse {
  const Graph& graph;
  const Node& node;
  bool widens;  // half precision is read as f32
};

class NodeContext : public frontend::GraphBuilder {
 public:
  NodeContext(mlir::OpBuilder& builder, mlir::Location location, frontend::IndexChecks& checks, NodeUse use,
              Environment& environment)
      : GraphBuilder(builder, location, &checks), use_(use), environment_(environment) {}

  const Node& node() const { return use_.node; }

  // Whether the argument is there and not None.
  bool has(std::string_view name) const;
  bool isTensor(std::string_view name) const;
  bool isReal(std::string_view name) const;
  bool isBoolean(std::string_view name) const;
  bool isText(std::string_view name) const;
  // Arguments by name. kInvalidArgument where one is missing (and has no `fallback`) or of another kind;
  // kUnimplemented where a number is wanted and it depends on a symbol.
  Result<Value> tensor(std::string_view name);
  Result<Term> term(std::string_view name);
  // Null where it is absent.
  Result<Value> optionalTensor(std::string_view name);
  // Null for None in the list.
  Result<Values> tensors(std::string_view name);
  // A number beyond +-2^48 is that: Python's slices say "to the end" so.
  Result<Dim> extent(std::string_view name, std::optional<std::int64_t> fallback = std::nullopt);
  Result<std::int64_t> integer(std::string_view name, std::optional<std::int64_t> fallback = std::nullopt);
  // One integer counts as a list of one; numbers beyond kMaxExtent are refused.
  Result<Shape> extents(std::string_view name);
  Result<Dims> integers(std::string_view name, std::optional<Dims> fallback = std::nullopt);
  // A list with `count` entries; one entry stands for all, no entry is `fallback`.
  Result<Dims> perDimension(std::string_view name, std::size_t count, std::int64_t fallback);
  // Integers and booleans are numbers too.
  Result<double> real(std::string_view name, std::optional<double> fallback = std::nullopt);
  // Numbers of a list, per dimension; empty where it is absent.
  Result<std::vector<double>> reals(std::string_view name);
  // How the program says that the tensor lies in memory: strides in elements, one per dimension.
  Result<Dims> strides(std::string_view name);
  Result<bool> flag(std::string_view name, std::optional<bool> fallback = std::nullopt);
  Result<std::string> text(std::string_view name, std::string_view fallback);
  Result<const Graph*> graph(std::string_view name);
  // Null where it is absent.
  Result<mlir::Type> type(std::string_view name);
  // A tensor or a number as a value of `element`; a number is a scalar.
  Result<Value> operand(std::string_view name, mlir::Type element);
  // Arguments that change nothing of the result: read, and of no meaning here.
  void ignore(std::initializer_list<std::string_view> names) { read_.insert(names.begin(), names.end()); }
  // The first argument that no function has asked for and that says something; "" if there is none.
  std::string_view unread() const;

  // As the program declares them.
  std::size_t outputCount() const { return use_.node.outputs.size(); }
  Result<mlir::Type> outputType(std::size_t index = 0) const;
  Result<Shape> outputShape(std::size_t index = 0) const;
  bool wantsOutput(std::size_t index) const;

  Result<std::optional<Values>> body(const Graph& graph, const Values& arguments) {
    return environment_.body(graph, arguments);
  }

  mlir::Type i1() const { return mlir::IntegerType::get(context(), 1); }
  mlir::Type i64() const { return mlir::IntegerType::get(context(), 64); }
  mlir::Type f32() const { return mlir::Float32Type::get(context()); }
  // A scalar of `element` with all 64 bits.
  Result<Value> whole(std::int64_t value, mlir::Type element);
  // Index values outside of [-extent, extent) are counted, and refused where they are known.
  Status checkIndices(Value indices, const Dim& extent);

 private:
  // Null where it is absent or None.
  const Argument* find(std::string_view name) const;
  Result<Dim> extentOf(const IntegerArgument& argument) const;
  tl::unexpected<Error> wrongKind(std::string_view name, std::string_view wanted) const;
  Result<const TensorMeta*> declared(std::size_t index) const;

  NodeUse use_;
  Environment& environment_;
  mutable std::set<std::string_view> read_;
};

// No extent is larger, so that sums and products of a few stay in 64 bits.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

inline tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}
inline tl::unexpected<Error> unserved(std::string message) {
  return fail(Code::kUnimplemented, std::move(message));
}

// 0, 1, ... rank - 1.
Dims allDims(std::int64_t rank);
// "an operand of type i64" and so on never meets a float formula: integers and i1 as f32, floats as they are.
Result<Value> asFloat(NodeContext& node, Value value);
// The one result.
inline Result<Values> one(Result<Value> value) {
  if (!value) return fail(value.error());
  return Values{*value};
}
inline Result<Values> one(const Term& term) {
  return one(term.value());
}

}  // namespace kiln::torch
