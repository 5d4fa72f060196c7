// The one form of an operation's attributes, from whatever a reader found.
#pragma once

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// A list as an attribute: `integers` where it is not empty and has only integers and booleans.
Attribute listAttribute(std::vector<Attribute> list);

// The integers of a literal of integers or booleans, at most 2^16; kInvalidArgument for another one.
Result<std::vector<std::int64_t>> literalIntegers(const Literal& literal);

// Gives the attributes of an operation of StableHLO their kinds and defaults, and takes away those that say
// nothing (segment sizes, the usual accuracy, those of older versions). Operations of other dialects stay as
// they are. `types` are those of the function's values. kInvalidArgument where one is missing or of a kind
// that it cannot have.
Status normalize(Operation& operation, const std::vector<Type>& types);

}  // namespace kiln::stablehlo
