// A program of torch.export as plain structs: what the reader makes and the importer takes. No MLIR and no
// JSON here. Source: torch/_export/serde/schema.py, schema version 8.20 (torch 2.15); what the schema has for
// devices, layouts, gradients and call trees of modules is left out, since a compiled program has none.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler_core/frontend/torch/program/expression.h"
#include "manifest/artifact/dtype.h"
#include "manifest/base/digest.h"

namespace kiln::torch {

struct Graph;

// How torch numbers element types (ScalarType of the schema).
using ScalarType = std::int64_t;
// nullopt for those that no tensor here has: complex numbers, types of later versions.
std::optional<DType> dtypeOf(ScalarType type);
// "float32", "complex64", "type 99"
std::string scalarTypeName(ScalarType type);

// A tensor by its name in the graph.
struct TensorName {
  std::string name;
};
// An integer argument: a number, or the name of one of the graph's integers.
struct IntegerArgument {
  std::int64_t value = 0;
  std::string name;  // "": the number
};
struct ScalarTypeArgument {
  ScalarType type = 0;
};
// Says how a tensor lies in memory or on which device it is: of no meaning here.
struct PlacementArgument {};
// A kind of argument that no operator takes here, by the schema's tag ("as_custom_obj").
struct OtherArgument {
  std::string tag;
};

// std::monostate is None. An empty list is a list of integers, whatever kind the operator wants.
using Argument =
    std::variant<std::monostate, bool, double, std::string, TensorName, IntegerArgument, ScalarTypeArgument,
                 PlacementArgument, OtherArgument, std::vector<IntegerArgument>, std::vector<bool>,
                 std::vector<double>, std::vector<std::optional<TensorName>>, std::shared_ptr<const Graph>>;

struct NamedArgument {
  std::string name;  // as the operator's schema has it: "self", "dim"
  Argument value;
};

// Only tensors can be used by name. Others: "" (None, and integers, which Graph::integers has).
struct Node {
  std::string target;  // without "torch.ops.": "aten.conv2d.default", "higher_order.cond", "_operator.mul"
  std::string name;    // the first tensor's; what messages call the node
  std::vector<NamedArgument> inputs;
  std::vector<std::string> outputs;
};

struct TensorMeta {
  ScalarType type = 0;
  std::vector<Expression> sizes, strides;  // as many of both
  bool isStrided = true;                   // else sparse or of a library's own layout
};

struct Graph {
  std::vector<Argument> inputs, outputs;
  std::vector<Node> nodes;
  std::map<std::string, TensorMeta, std::less<>> tensors;
  std::map<std::string, Expression, std::less<>> integers;
};

// What an input of the graph is.
struct InputSpec {
  enum class Kind { kUser, kParameter, kBuffer, kConstant, kConstantInput, kOther };
  Kind kind = Kind::kUser;
  Argument argument;   // in the graph
  std::string target;  // of parameters, buffers and constants: "layer1.0.weight"; else the schema's tag
};

struct OutputSpec {
  enum class Kind { kUser, kBufferMutation, kUserInputMutation, kOther };
  Kind kind = Kind::kUser;
  Argument argument;   // in the graph
  std::string target;  // the buffer, or the input by its name in the graph; else the schema's tag
};

// Bounds of a symbol, both included.
struct SymbolRange {
  std::optional<std::int64_t> min, max;
};

// Row-major and dense. The bytes may be unaligned.
struct Tensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  Bytes bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` alive
};

struct Program {
  std::string form;          // "torch.export 8.20"
  std::string torchVersion;  // as the file states it: "2.15.0+cpu"
  std::int64_t opset = 0;    // of aten
  Graph graph;
  std::vector<InputSpec> inputs;                           // as many as graph.inputs
  std::vector<OutputSpec> outputs;                         // as many as graph.outputs
  std::map<std::string, SymbolRange, std::less<>> ranges;  // by symbol
  std::map<std::string, Tensor, std::less<>> tensors;      // of parameters, buffers and constants
};

}  // namespace kiln::torch
