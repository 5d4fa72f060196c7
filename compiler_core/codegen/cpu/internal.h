// The steps of generateCpuProgram. Private to this folder and to codegen/cuda.
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

// LLVM dialect to LLVM IR for the machine; what it calls is not there yet.
Result<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module, llvm::TargetMachine& machine,
                                                llvm::LLVMContext& context);

// The exported kiln_program.
Status addTable(llvm::Module& module, const ProgramTable& table);

// A part of a program, for one target: an object of its own.
struct Part {
  std::string bitcode;
  std::string target;  // kTargetFunctionAttr of its functions; "" for CpuOptions::target
};

// Links what the module calls of a bitcode library into it.
Status linkLibrary(llvm::Module& module, const std::string& path, bool hasAvx512);

// The module's functions in parts; the same parts on every machine.
std::vector<Part> split(llvm::Module& module);

// A part with the math it needs, the target's attributes, and nothing visible but what other parts use.
Result<std::unique_ptr<llvm::Module>> completePart(const std::string& bitcode, const CpuOptions& options,
                                                   llvm::LLVMContext& context);

// The O3 pipeline without any knowledge of a C library.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

// An ELF relocatable object.
Result<std::string> emitObject(llvm::Module& module, llvm::TargetMachine& machine);

// Links objects in process; returns the shared object's bytes.
Result<std::string> linkShared(const std::vector<std::string>& objects, const CpuOptions& options);

// The same as one relocatable object, in which the builtins that it needs are.
Result<std::string> linkRelocatable(const std::vector<std::string>& objects, const CpuOptions& options);

// A relocatable object whose hidden symbols are local ones. kInternal: it still needs a symbol, or shows
// another one than `entry`.
Result<std::string> hideAllBut(const std::string& entry, const std::string& elf);

// Fills codeBytes and functions from program.elf.
Status measure(CpuProgram& program);

}  // namespace kiln::codegen
