// A StableHLO program as plain structs: what both readers (bytecode/ and text/) make and the importer takes.
// No MLIR here.
//
// There is one form for each operation, whatever version or syntax it was read from: that of its newest
// version in VHLO, StableHLO's versioned dialect, with the names of StableHLO. Aggregate attributes of the
// text form
// (#stablehlo.dot, #stablehlo.gather, #stablehlo.conv, ...) are taken apart into VHLO's attributes
// (lhs_contracting_dimensions, index_vector_dim, ...); what older versions lack has its default.
// Source: the StableHLO specification (openxla) and its VHLO dialect, version 1.20.0.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "manifest/base/digest.h"

namespace kiln::stablehlo {

enum class Element {
  kI1,
  kI2,
  kI4,
  kI8,
  kI16,
  kI32,
  kI64,
  kUI2,
  kUI4,
  kUI8,
  kUI16,
  kUI32,
  kUI64,
  kBF16,
  kF16,
  kF32,
  kF64,
  kC64,   // two f32: the real part, then the imaginary one
  kC128,  // two f64
  // Read and named, but served by no operation: quantized numbers, small floats.
  kOther,
};

// An extent that is known at run time only.
inline constexpr std::int64_t kDynamic = -1;

struct Type {
  enum class Kind { kTensor, kTuple, kOther };  // kOther: tokens, futures, functions and whatever else
  Kind kind = Kind::kOther;
  Element element = Element::kOther;  // of tensors
  std::vector<std::int64_t> shape;    // of tensors; kDynamic
  std::vector<Type> members;          // of tuples
  std::string text;                   // as StableHLO writes it ("tensor<2x!quant.uniform>"); for messages

  bool operator==(const Type&) const = default;
};

// Elements in row-major order, little-endian, i1 one byte each and types below a byte one byte for each
// element, sign-extended where they are signed. One element that stands for all where `isSplat`.
struct Literal {
  Type type;
  bool isSplat = false;
  Bytes bytes;                        // may be unaligned
  std::shared_ptr<const void> owner;  // keeps `bytes` alive
};

struct Attribute;
using Attributes = std::map<std::string, Attribute, std::less<>>;
// StableHLO's enumerations by the name of their value: LT, TOTALORDER, HIGHEST, NO_TRANSPOSE.
struct Enumerated {
  std::string name;
};
struct SymbolName {
  std::string name;  // without "@"
};
struct Attribute {
  // std::monostate: an attribute that is none of these; its presence alone is known. Lists of integers and of
  // booleans (dimension numbers, strides, window_reversal) are `integers` whatever type they had; matrices
  // such as `padding` are flat and in row-major order.
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Enumerated, SymbolName,
               std::vector<std::int64_t>, Literal, Type, std::vector<Attribute>, Attributes>
      value;
};

// Values are numbered within a function, block arguments included.
using ValueId = std::uint32_t;

struct Operation;
// One block: StableHLO has no others.
struct Region {
  std::vector<ValueId> arguments;
  std::vector<Operation> operations;  // the last one is the terminator, "return"
};

struct Operation {
  std::string name;  // "add", "chlo.top_k", "func.call" is "call", "func.return" is "return"
  std::vector<ValueId> operands, results;
  Attributes attributes;
  std::vector<Region> regions;
  std::string
      location;  // its name in NameLocs, outermost first and joined with "/"; no file, no line. May be empty
};

struct Argument {
  std::string name;  // of its NameLoc: "params['Dense_0']['kernel']"; empty where there is none
  Attributes attributes;
};

struct Function {
  std::string name;
  bool isPublic = true;
  std::vector<Argument> arguments;  // as many as body.arguments
  std::vector<Type> results;
  std::vector<Attributes> resultAttributes;  // empty, or one per result
  std::vector<Type> types;                   // of each value
  Region body;
};

// Owns the bytes that literals view, each through its owner.
struct Program {
  std::string
      form;  // "StableHLO bytecode 1.17.0", "StableHLO text", "JAX export 10 with StableHLO bytecode 1.15.0"
  std::string producer;                // "StableHLO_v1.17.0", as bytecode states it; else empty
  std::vector<std::string> platforms;  // that JAX exported it for, in the order of their indices; else empty
  std::vector<Function> functions;

  // The function a run calls: the public one called "main", or else the only public one; null if there is
  // none.
  const Function* entry() const;
  // By its name; null if there is none.
  const Function* find(std::string_view name) const;
};

}  // namespace kiln::stablehlo
