// The numbers of VHLO's encodings.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

enum class VhloAttribute : std::uint64_t {
  kArray = 1,
  kBool = 2,
  kDictionary = 6,
  kFloat = 8,
  kInteger = 9,
  kOperandAlias = 10,
  kString = 14,
  kTensor = 15,
  kType = 17,
  kBounds = 18,
  kAccuracy = 20,
  // Meshes of devices, which nothing here reads.
  kFirstMesh = 21,
  kLastMesh = 25
};

enum class VhloType : std::uint64_t {
  kComplex = 1,
  kFunction = 8,
  kTensor = 20,
  kTensorWithEncoding = 21,
  kToken = 22,
  kTuple = 23,
  kQuantized = 24,
  kQuantizedPerAxis = 30,
  kUnrankedTensor = 25,
  kWitness = 26,
  kNone = 33,
  kBuffer = 41,
  kFuture = 42
};

// A type that is its code: an element, index or a float that nothing serves.
struct VhloScalar {
  Element element;
  std::string_view name;
};
std::optional<VhloScalar> vhloScalar(std::uint64_t code);

// The name of `value` in the enumeration that attribute `code` is of; empty for other codes and values.
std::string_view vhloEnumerated(std::uint64_t code, std::uint64_t value);
bool isVhloEnumeration(std::uint64_t code);

}  // namespace kiln::stablehlo
