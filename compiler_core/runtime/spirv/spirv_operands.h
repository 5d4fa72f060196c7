// How the instructions that kernels may hold are written as text: names, and which operands are ids
// (specification 1.6, section 3.52). Private to this folder.
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln::spirv {

// What comes behind the first word, the type and the result: a letter an operand, and none for those that may
// be left out at the end.
//   i an id   n a number   I ids up to the end   N numbers up to the end
//   M memory operands: a mask, then a number where Aligned, then scopes
//   S a selector and a default label, then pairs of a number of the selector's width and a label
struct Wording {
  std::string_view name;      // "FAdd", without Op
  std::string_view operands;  // letters
};

// Of an instruction that layoutOf() knows; any other is {"?", "N"}.
Wording wordingOf(std::uint32_t opcode);

// "Workgroup"; "storage" with no name here.
std::string_view storageName(std::uint32_t storage);
// "NoContraction"; "" with no name here.
std::string_view decorationName(std::uint32_t decoration);

}  // namespace kiln::spirv
