// From a module in MLIR's LLVM dialect to one relocatable ELF object for a processor without an operating
// system: a function that runs the model, the weights as constant data, and the arena, each in a section of
// its own. Nothing is left undefined in it. Deterministic, as generateCpuProgram.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler_core/codegen/cpu/codegen.h"

namespace kiln::codegen {

// Sections of the object, for linker scripts.
inline constexpr char kWeightsSection[] = ".rodata.kiln_weights";
inline constexpr char kArenaSection[] = ".bss.kiln_arena";

struct BareMetalTable {
  // The function that is seen from outside: int32_t entry(const void* const* inputs, void* const* outputs).
  // It returns what kiln_run returns (runtime/program_abi.h). Nothing else is seen from outside.
  std::string entry;
  std::uint32_t outputDims = 0;  // the ranks of all outputs together
  ProfileEntry profile;  // `run` names a function of the module; sizes are fixed, so there is only one
};

// `weights`: one for each pointer of kiln_run's `weights`, laid out for the program. The program runs its
// kernels one after the other, task by task, and keeps the floating-point modes of its caller. Thread safe,
// as generateCpuProgram. kInternal: what does not verify or link, or an object that would need something from
// outside, named. kInvalidArgument: a toolchain file that is missing.
Result<CpuProgram> generateBareMetalProgram(mlir::ModuleOp module, const BareMetalTable& table,
                                            const std::vector<std::vector<std::uint8_t>>& weights,
                                            const CpuOptions& options);

}  // namespace kiln::codegen
