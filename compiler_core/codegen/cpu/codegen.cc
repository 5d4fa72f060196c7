#include "compiler_core/codegen/cpu/codegen.h"

#include "compiler_core/codegen/cpu/internal.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln::codegen {

Result<CpuProgram> generateCpuProgram(mlir::ModuleOp module, const ProgramTable& table,
                                      const CpuOptions& options) {
  KILN_ASSIGN(auto machine, makeTargetMachine(options));
  llvm::LLVMContext context;
  KILN_ASSIGN(auto ir, translate(module, table, options, *machine, context));
  optimize(*ir, *machine);
  CpuProgram program;
  if (options.keepIr) {
    llvm::raw_string_ostream out(program.llvmIr);
    ir->print(out, nullptr);
  }
  KILN_ASSIGN(const std::string object, emitObject(*ir, *machine));
  KILN_ASSIGN(program.elf, linkShared(object, options));
  KILN_TRY(measure(program));
  return program;
}

}  // namespace kiln::codegen
