// The functions of a SPIR-V module as text that does not depend on how the module numbers its ids: so that
// two modules can be told apart kernel by kernel and instruction by instruction. The module may come from
// anybody.
//
// Within a function values are %0, %1, ... in the order of their definitions, variables @0, @1, ... in the
// order of their use. Types and constants are written out ("float 2", "ptr<Workgroup,float>"), or where that
// is long as their instruction and a digest of it. A helper's name is "function_" and a digest of its text,
// because modules need not name it. Decorations stand behind what they are on. Operands that are numbers in
// the format are numbers here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::spirv {

struct FunctionText {
  std::string name;  // of a kernel, its entry point's
  bool isKernel = false;
  std::uint64_t bytes = 0;  // of its instructions
  Digest digest;            // of its text, and by their names of what it calls
};

struct InstructionText {
  std::uint64_t offset = 0;  // in bytes from the function's first instruction
  std::string text;          // "%5 = FAdd float %3 %4 NoContraction"; at most kMaxLineBytes
};

inline constexpr std::size_t kMaxLineBytes = 1000;

// In the module's order. Errors as check()'s, which reads the module first. Takes time and memory in
// proportion to the module's size.
Result<std::vector<FunctionText>> functionsOf(std::string_view module);

// The first `limit` instructions of the function of this name. kNotFound without one; otherwise as
// functionsOf().
Result<std::vector<InstructionText>> instructionsOf(std::string_view module, std::string_view function,
                                                    std::size_t limit);

}  // namespace kiln::spirv
