// The instructions of one function of a program, as text. No LLVM in this header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::driver {

struct Instruction {
  std::uint64_t offset = 0;  // from the function's first byte
  std::string bytes;         // hex; "" of SPIR-V, whose words hold ids that number the whole module
  std::string text;          // "vmovups ymm0, ..." with targets of branches relative to the instruction
};

// `program` is a program.so or a module of SPIR-V, from anywhere: kInvalidArgument if it is no ELF for x86-64
// or AArch64 and no module that spirv::check takes, kNotFound without such a function. At most `limit`
// instructions. Bytes that are none are "(bad)" and skipped one by one (four by four on AArch64). SPIR-V is
// written as runtime/spirv/spirv_text.h says.
Result<std::vector<Instruction>> disassemble(std::string_view program, const std::string& function,
                                             std::size_t limit);

}  // namespace kiln::driver
