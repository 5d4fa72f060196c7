// Integers of a program that may depend on its symbolic sizes, as plain trees. No MLIR here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::torch {

// The names of the functions are those of sympy and of torch.utils._sympy.functions, whose meaning they have.
struct Expression {
  enum class Kind {
    kInteger,   // value
    kSymbol,    // text
    kAdd,       // of any number of operands, at least one
    kMul,       // the same
    kMax,       // the same
    kMin,       // the same
    kPow,       // base and exponent
    kFloorDiv,  // rounded towards minus infinity; CleanDiv too, which leaves no rest
    kMod,       // remainder with the divisor's sign
    kOther,     // read and named, but served nowhere: `text` is what the file says
  };
  Kind kind = Kind::kInteger;
  std::int64_t value = 0;
  std::string text;
  std::vector<Expression> operands;

  bool operator==(const Expression&) const = default;
};

inline Expression number(std::int64_t value) {
  return {Expression::Kind::kInteger, value, {}, {}};
}

}  // namespace kiln::torch
