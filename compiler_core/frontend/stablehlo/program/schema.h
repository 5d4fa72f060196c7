// What attributes each operation has in its newest version, which of them an older version of VHLO lacks, and
// what stands for an absent one: the one table that both readers go by. Source: StableHLO's VHLO dialect,
// versions 0.9.0 to 1.20.0.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace kiln::stablehlo {

// What Attribute::value holds.
enum class AttributeKind {
  kAny,
  kBool,
  kInteger,
  kFloat,
  kString,
  kEnum,
  kEnums,
  kSymbol,
  kSymbols,
  kIntegers,
  kLiteral,
  kDictionary,
  kType
};

// What an absent attribute is. "Ones" and "zeros" have one element for each dimension of the window: the
// spatial ones of a convolution, else those of the first operand.
enum class Absent {
  kWrong,
  kStaysAbsent,
  kFalse,
  kZero,
  kMinusOne,
  kEmptyString,
  kEmptyList,
  kEmptyDictionary,
  kOnes,
  kZeros,
  kPairsOfZeros,
  kTwoDefaults,  // precision_config
  kNoType,       // compare_type
  kOriginal      // api_version
};

struct AttributeRule {
  std::string_view name;
  AttributeKind kind;
  Absent absent = Absent::kWrong;
  int since = 1;   // the operation's first version that has it
  int until = 99;  // the last one
};

struct OperationRule {
  std::string_view name;
  std::span<const AttributeRule> attributes = {};
  int newest = 1;  // version
};

// The row of an operation by its name without "stablehlo."; null if it is not StableHLO's.
const OperationRule* findRule(std::string_view operation);

// The attributes that `version` of the operation has, by name: the order in which bytecode has them.
std::vector<const AttributeRule*> attributesOfVersion(const OperationRule& rule, int version);

}  // namespace kiln::stablehlo
