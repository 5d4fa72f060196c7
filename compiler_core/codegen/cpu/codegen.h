// From a module in MLIR's LLVM dialect to a freestanding ELF shared object that exports kiln_program
// (compiler_core/runtime/program_abi.h). Deterministic: the same module and options give the same bytes, on
// any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"
#include "manifest/spec/target.h"

namespace llvm {
class Module;
}
namespace mlir {
class ModuleOp;
}

namespace kiln::codegen {

// One profile of the exported table; `run` and `shapes` name functions of the module.
struct ProfileEntry {
  std::string run, shapes;
  std::uint64_t arenaBytes = 0, scratchBytes = 0;
  std::vector<std::uint64_t> deviceArenaBytes = {};  // one per device
};

// What goes into the exported table.
struct ProgramTable {
  std::uint32_t inputs = 0, outputs = 0, weights = 0, symbols = 0, outputDims = 0;
  std::uint32_t devices = 0;  // more than none: the program has ABI 3
  std::vector<ProfileEntry> profiles;
};

// In the passthrough attributes of a function of the LLVM dialect: the name of the target that it is for,
// where that is not CpuOptions::target.
inline constexpr char kTargetFunctionAttr[] = "kiln-target";

struct CpuOptions {
  Target target;
  std::vector<Target> partitions;    // targets of the same triple that functions name in kTargetFunctionAttr
  bool contraction = true;           // llvm.fmuladd may become one fused operation
  std::vector<std::string> bitcode;  // paths of kmath.bc and kkernels.bc, linked where needed
  std::string builtinsArchive;       // path of libkiln_builtins-<arch>.a; empty: none
  std::string workDirectory;         // existing and writable; the linker's files live there during the call
  bool keepIr = false;               // fill CpuProgram::llvmIr
  unsigned threads = 0;              // at most so many compile parts; 0: as many as there are processors
  // Called on the caller's thread for each step ("llvm:optimize") with its processor time, summed over all
  // parts; may be empty.
  std::function<void(std::string_view step, double seconds)> onStep = {};
};

struct CodeSymbol {
  std::string name;
  std::uint64_t bytes = 0;
};

struct CpuProgram {
  std::string elf;                    // the shared object
  std::uint64_t codeBytes = 0;        // executable sections
  std::vector<CodeSymbol> functions;  // by name
  std::string llvmIr;                 // optimised LLVM IR, with keepIr
};

// Thread safe; links take turns, since lld is not re-entrant. Leaves nothing in workDirectory.
// kInvalidArgument: a toolchain file that is missing or no such file. kInternal: a module that does not
// verify or link, with what LLVM said.
Result<CpuProgram> generateCpuProgram(mlir::ModuleOp module, const ProgramTable& table,
                                      const CpuOptions& options);

// The same for an object that exports something else: addExports adds it to the module's LLVM IR, functions
// by their names.
Result<CpuProgram> generateSharedObject(mlir::ModuleOp module,
                                        const std::function<Status(llvm::Module&)>& addExports,
                                        const CpuOptions& options);

}  // namespace kiln::codegen
