// The steps of generateCpuProgram. Private to this folder.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/codegen/cpu/codegen.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm

namespace kiln::codegen {

// The LLVM target machine; its feature string is exactly the target's list.
Result<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const CpuOptions& options);

// LLVM dialect to LLVM IR, with the exported table, hidden linkage for all else and the target's attributes.
Result<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module, const ProgramTable& table,
                                                const CpuOptions& options, llvm::TargetMachine& machine,
                                                llvm::LLVMContext& context);

// The O3 pipeline without any knowledge of a C library.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

// An ELF relocatable object.
Result<std::string> emitObject(llvm::Module& module, llvm::TargetMachine& machine);

// Links one object in process; returns the shared object's bytes.
Result<std::string> linkShared(const std::string& object, const CpuOptions& options);

// Fills codeBytes and functions from program.elf.
Status measure(CpuProgram& program);

}  // namespace kiln::codegen
