#include "compiler_core/codegen/cpu/codegen.h"

#include <algorithm>
#include <utility>

#include "compiler_core/codegen/cpu/internal.h"
#include "compiler_core/codegen/cpu/parallel.h"
#include "compiler_core/ir/processor_time.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln::codegen {
namespace {

// Processor time of each step of a part; of a program, of all its parts.
struct Times {
  double complete = 0, optimize = 0, emit = 0;

  void add(const Times& other) {
    complete += other.complete;
    optimize += other.optimize;
    emit += other.emit;
  }
};

struct Object {
  std::string bytes, ir;
  Times times;
};

// Measures consecutive steps on one thread.
class Stopwatch {
 public:
  // Since the last call, or since the beginning.
  double lap() {
    const double last = std::exchange(last_, ir::threadSeconds());
    return last_ - last;
  }

 private:
  double last_ = ir::threadSeconds();
};

void tell(const CpuOptions& options, std::string_view step, double seconds) {
  if (options.onStep) options.onStep(step, seconds);
}

Result<Object> compilePart(const Part& part, CpuOptions options) {
  if (!part.target.empty()) {
    const auto target = std::ranges::find(options.partitions, part.target, &Target::name);
    if (target == options.partitions.end())
      return fail(Code::kInternal, "a function is for " + part.target + ", which is no partition's target");
    options.target = *target;
  }
  Object object;
  Stopwatch watch;
  KILN_ASSIGN(auto machine, makeTargetMachine(options));
  llvm::LLVMContext context;
  KILN_ASSIGN(auto module, completePart(part.bitcode, options, context));
  object.times.complete = watch.lap();
  optimize(*module, *machine);
  object.times.optimize = watch.lap();
  if (options.keepIr) {
    llvm::raw_string_ostream out(object.ir);
    module->print(out, nullptr);
  }
  watch.lap();
  KILN_ASSIGN(object.bytes, emitObject(*module, *machine));
  object.times.emit = watch.lap();
  return object;
}

Result<std::vector<Part>> splitProgram(mlir::ModuleOp module,
                                       const std::function<Status(llvm::Module&)>& addExports,
                                       const CpuOptions& options) {
  Stopwatch watch;
  KILN_ASSIGN(auto machine, makeTargetMachine(options));
  llvm::LLVMContext context;
  KILN_ASSIGN(auto ir, translate(module, *machine, context));
  KILN_TRY(addExports(*ir));
  tell(options, "llvm:translate", watch.lap());
  std::vector<Part> parts = split(*ir);
  tell(options, "llvm:split", watch.lap());
  return parts;
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
  forEach(parts.size(), options.threads, [&](std::size_t i) { results[i] = compilePart(parts[i], options); });
  CpuProgram program;
  std::vector<std::string> objects;
  Times times;
  for (Result<Object>& result : results) {
    if (!result) return fail(result.error());
    program.llvmIr += result->ir;
    objects.push_back(std::move(result->bytes));
    times.add(result->times);
  }
  tell(options, "llvm:complete", times.complete);
  tell(options, "llvm:optimize", times.optimize);
  tell(options, "llvm:emit", times.emit);
  Stopwatch watch;
  KILN_ASSIGN(program.elf, linkShared(objects, options));
  tell(options, "llvm:link", watch.lap());
  KILN_TRY(measure(program));
  return program;
}

}  // namespace kiln::codegen
