// An ONNX model as plain structs over the file's bytes: every string and tensor payload is a view into it.
// Field numbers and meanings: onnx.proto of ONNX (the fields named here are those Kiln reads; others are
// skipped).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/artifact/dtype.h"
#include "manifest/base/digest.h"

namespace kiln::onnx {

// TensorProto.DataType by number.
enum class ElementType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kDouble = 11
};
// "float", "float16", "int4"...; "type 99" for numbers unknown here.
std::string elementTypeName(std::int32_t type);
// The DType of tensors that have one; nullopt for strings and complex numbers.
std::optional<DType> toDType(std::int32_t type);

// A typed payload field of TensorProto (float_data and its siblings): packed chunks or single values as they
// came.
struct TypedPayload {
  std::vector<Bytes> packed;
  std::vector<std::uint64_t> single;
};

struct Tensor {
  std::string_view name;
  std::int32_t type = 0;
  std::vector<std::int64_t> dims;
  std::optional<Bytes> raw;
  TypedPayload floats, ints32, ints64, doubles, uints64;
  std::vector<std::string_view> strings;                                // any bytes
  std::vector<std::pair<std::string_view, std::string_view>> external;  // key, value
  bool isExternal = false;
};

struct Graph;

struct Attribute {
  std::string_view name;
  std::int32_t type = 0;  // AttributeProto.AttributeType; 0 in files older than IR version 2
  std::optional<float> f;
  std::optional<std::int64_t> i;
  std::optional<std::string_view> s;
  std::optional<Tensor> t;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<Graph> graphs;   // one of a graph attribute, any number of a graphs attribute
  std::string_view reference;  // inside a function: the attribute of the call that stands here
};

struct Node {
  std::string_view name, op, domain, overload;
  std::vector<std::string_view> inputs, outputs;  // "" is an absent optional one
  std::vector<Attribute> attributes;
};

// One dimension: a number that is not negative, a symbolic name, or neither, which is an unknown dimension of
// its own. Negative numbers, "?", "-1" and "None" are what exporters write for neither.
struct DeclaredDim {
  std::optional<std::int64_t> value;
  std::string_view name;
};

enum class Container { kSequence, kOptional };

struct ValueInfo {
  std::string_view name;
  bool isTensor = false;              // false: sequence, map, optional, sparse or not said
  std::vector<Container> containers;  // of a sequence or optional, outermost first; then what is in it:
  std::int32_t type = 0;
  std::optional<std::vector<DeclaredDim>> shape;  // nullopt: unknown rank
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<std::string_view> sparse;  // names of initializers that are sparse tensors, which are not read
};

using Opsets = std::map<std::string, std::int64_t, std::less<>>;  // by domain; "" is ONNX itself

// A model-local function: a node of its domain, name and overload stands for its body.
struct Function {
  std::string_view domain, name, overload;
  std::vector<std::string_view> attributes;  // without a default: left out where the call leaves them out
  std::vector<Attribute> defaults;
  Opsets opsets;
  Graph graph;  // inputs and outputs have names only
};

struct Model {
  std::int64_t irVersion = 0;
  std::string_view producer, producerVersion;
  Opsets opsets;
  std::vector<Function> functions;
  Graph graph;
};

}  // namespace kiln::onnx
