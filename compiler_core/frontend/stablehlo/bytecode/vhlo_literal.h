// Numbers and literals as VHLO's bytecode stores them.
#pragma once

#include <memory>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// Bits of a number of this type; 0 for kOther.
std::size_t bitWidth(Element element);
// The value of a float or an integer by its lowest bits.
double floatOf(Element element, std::uint64_t bits);
std::int64_t integerOf(Element element, std::uint64_t bits);

// A literal of `bytes`, which `owner` keeps; one element where all are the same. Booleans are packed, eight
// in a byte, and unpacked into memory of their own; so are elements below a byte, which have one byte each,
// for their sign. Of elements that nothing serves the bytes are dropped. kInvalidArgument if the bytes are
// not those of such a literal.
Result<Literal> vhloLiteral(Type type, Bytes bytes, std::shared_ptr<const void> owner);

}  // namespace kiln::stablehlo
