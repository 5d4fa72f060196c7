#include "compiler_core/codegen/cpu/codegen.h"

#include <algorithm>

#include "compiler_core/codegen/cpu/internal.h"
#include "compiler_core/codegen/cpu/parallel.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln::codegen {
namespace {

struct Object {
  std::string bytes, ir;
};

Result<Object> compilePart(const Part& part, CpuOptions options) {
  if (!part.target.empty()) {
    const auto target = std::ranges::find(options.partitions, part.target, &Target::name);
    if (target == options.partitions.end())
      return fail(Code::kInternal, "a function is for " + part.target + ", which is no partition's target");
    options.target = *target;
  }
  KILN_ASSIGN(auto machine, makeTargetMachine(options));
  llvm::LLVMContext context;
  KILN_ASSIGN(auto module, completePart(part.bitcode, options, context));
  optimize(*module, *machine);
  Object object;
  if (options.keepIr) {
    llvm::raw_string_ostream out(object.ir);
    module->print(out, nullptr);
  }
  KILN_ASSIGN(object.bytes, emitObject(*module, *machine));
  return object;
}

Result<std::vector<Part>> splitProgram(mlir::ModuleOp module,
                                       const std::function<Status(llvm::Module&)>& addExports,
                                       const CpuOptions& options) {
  KILN_ASSIGN(auto machine, makeTargetMachine(options));
  llvm::LLVMContext context;
  KILN_ASSIGN(auto ir, translate(module, *machine, context));
  KILN_TRY(addExports(*ir));
  return split(*ir);
}

}  // namespace

Result<CpuProgram> generateCpuProgram(mlir::ModuleOp module, const ProgramTable& table,
                                      const CpuOptions& options) {
  return generateSharedObject(module, [&](llvm::Module& ir) { return addTable(ir, table); }, options);
}

Result<CpuProgram> generateSharedObject(mlir::ModuleOp module,
                                        const std::function<Status(llvm::Module&)>& addExports,
                                        const CpuOptions& options) {
  KILN_ASSIGN(const std::vector<Part> parts, splitProgram(module, addExports, options));
  std::vector<Result<Object>> results(parts.size());
  forEach(parts.size(), [&](std::size_t i) { results[i] = compilePart(parts[i], options); });
  CpuProgram program;
  std::vector<std::string> objects;
  for (Result<Object>& result : results) {
    if (!result) return fail(result.error());
    program.llvmIr += result->ir;
    objects.push_back(std::move(result->bytes));
  }
  KILN_ASSIGN(program.elf, linkShared(objects, options));
  KILN_TRY(measure(program));
  return program;
}

}  // namespace kiln::codegen
