// From planned buffers and vector code to the LLVM dialect, in the shape that the program ABI wants.
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
}  // namespace mlir

namespace kiln::codegen {

// kiln-outline-kernels: each scf.forall of @main becomes a function (environment, task, scratch) called
// through the table's parallel_for; @main becomes @kiln_run_<profile>, the run function of a profile, and
// @kiln_shapes_<profile> states its outputs' dimensions (program_abi.h). Kernels are named after the model's
// nodes; the schedule that kiln-tile left is kept as `kiln.kernel` on the function. The environment is the
// run's pointers from arena to symbols, and numbers that only the calling thread can know: kernels compute
// their buffers' addresses themselves. A dense part of a buffer becomes a buffer of its own.
std::unique_ptr<mlir::Pass> createOutlineKernelsPass(unsigned profile = 0);

// kiln-share-kernels: kernels whose code differs in nothing but the addresses that it reads from the
// environment (the layers of one shape) keep these addresses and call one function, <first kernel>_code; all
// but the first say so in `kiln.code_of`. What a program costs to compile then grows with its distinct
// layers.
std::unique_ptr<mlir::Pass> createShareKernelsPass();
inline constexpr char kCodeOfAttr[] = "kiln.code_of";  // on a kernel: the symbol of the first one

// kiln-math-to-calls: every transcendental function that compiler_core/math has becomes a call of the math
// library, in the widths it has.
std::unique_ptr<mlir::Pass> createMathToCallsPass();

// kiln-library-calls: kiln.call on buffers becomes a call of the kernel library
// (compiler_core/kernels/README.md has the convention).
std::unique_ptr<mlir::Pass> createLibraryCallsPass();

// What is left to the LLVM dialect, with upstream's conversions.
void addLowerToLlvm(mlir::OpPassManager& passes);

void registerPasses();

}  // namespace kiln::codegen
