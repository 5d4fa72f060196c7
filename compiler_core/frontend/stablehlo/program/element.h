// Elements and types: their names, their sizes in a Literal, and how a tensor's Type is made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// "f32", "ui8", "i1"; empty for kOther.
std::string_view elementName(Element element);
// Bytes of one element in Literal::bytes; 0 for kOther.
std::size_t elementBytes(Element element);

// A tensor with its text. `other` names the element where it is kOther ("!quant.uniform").
Type tensorType(Element element, std::vector<std::int64_t> shape, std::string_view other = {});

// A tuple with its text.
Type tupleType(std::vector<Type> members);

// The product of `shape`; nullopt where it has a dynamic or negative extent, or passes 2^48.
std::optional<std::int64_t> elementCount(std::span<const std::int64_t> shape);

// kInvalidArgument unless a literal of `type` may have `bytes` bytes: those of one element where `isSplat`,
// else those of all. Literals of other elements have no bytes.
Status checkLiteral(const Type& type, bool isSplat, std::size_t bytes);

}  // namespace kiln::stablehlo
