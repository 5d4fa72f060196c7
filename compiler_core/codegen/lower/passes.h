// From planned buffers and vector code to the LLVM dialect, in the shape that the program ABI wants.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mlir {
class OpPassManager;
class Pass;
}  // namespace mlir

namespace kiln::codegen {

// What a module is for: a profile, or one partition of it. Part of its functions' names.
struct Unit {
  unsigned profile = 0;
  std::optional<unsigned> partition;

  // "0", "1_2"
  std::string text() const {
    return std::to_string(profile) + (partition ? "_" + std::to_string(*partition) : "");
  }
};

// kiln-outline-kernels: each scf.forall of @main becomes a function (environment, task, scratch) called
// through the table's parallel_for; @main becomes @kiln_run_<unit>, the run function of a profile or of one
// of its partitions, and @kiln_shapes_<unit> states its outputs' dimensions (program_abi.h). Kernels are
// named after the model's nodes; the schedule that kiln-tile left is kept as `kiln.kernel` on the function.
// The environment is the run's pointers from arena to symbols, and numbers that only the calling thread can
// know: kernels compute their buffers' addresses themselves. A dense part of a buffer becomes a buffer of its
// own.
std::unique_ptr<mlir::Pass> createOutlineKernelsPass(Unit unit = {});

// kiln-outline-device-kernels: each scf.forall of a mapped @main (kiln-map-to-gpu, planned) becomes a kernel
// gpu.func of the gpu.module @kiln_device, whose blocks are the loop's iterations. Its arguments are what the
// loop uses from outside, in that order: a pointer per dense buffer (the run function computes addresses, so
// equal layers are equal functions), its symbolic extents, indices and numbers. Buffers of a block become
// views of one workgroup attribution. @main becomes
// @kiln_run_<unit>, which fills a kiln_launch on its stack for each loop, calls the table's launch and
// returns what is not KILN_RUN_OK; kiln.launches on it holds each loop's kiln.kernel with its `symbol` and,
// where it runs the code of an equal kernel, that one's name as `code_of`. `space`: of the device; `kernels`:
// those of the device so far and, then, of this unit too; it outlives the pass.
struct DeviceKernels;
std::unique_ptr<mlir::Pass> createOutlineDeviceKernelsPass(Unit unit = {}, std::uint32_t space = 1,
                                                           DeviceKernels* kernels = nullptr);
inline constexpr char kDeviceModule[] = "kiln_device";

// kiln-join-partitions: a @main of calls and transfers (ir/partition/partition_ops.h) becomes
// @kiln_run_<profile>, which calls @kiln_run_<profile>_<partition> in turn, and @kiln_shapes_<profile>. Each
// target has a region of the arena, planned from the lifetimes of what partitions hand on and of the
// partitions' own arenas: kiln.arena_bytes and the other totals of kiln-plan-memory, on the declarations
// @partition_<n>. Transfers are copies between regions. kiln.regions on the function says what the regions
// are. The region of a device's target is an arena of its own (kiln.device_arena_bytes); transfers to and
// from there call the table's copy, and wait comes before the processor reads what was copied to it.
std::unique_ptr<mlir::Pass> createJoinPartitionsPass(unsigned profile = 0);

// kiln-share-kernels: kernels whose code differs in nothing but the addresses that it reads from the
// environment (the layers of one shape) keep these addresses and call one function, <first kernel>_code; all
// but the first say so in `kiln.code_of`. What a program costs to compile then grows with its distinct
// layers.
std::unique_ptr<mlir::Pass> createShareKernelsPass();

// kiln-math-to-calls: every transcendental function that compiler_core/math has becomes a call of the math
// library, in the widths it has; onlyScalars: one call for each lane, for devices without vector registers.
std::unique_ptr<mlir::Pass> createMathToCallsPass(bool onlyScalars = false);

// kiln-library-calls: kiln.call on buffers becomes a call of the kernel library
// (compiler_core/kernels/README.md has the convention).
std::unique_ptr<mlir::Pass> createLibraryCallsPass();

// What is left to the LLVM dialect, with upstream's conversions. scalarMath: createMathToCallsPass's
// onlyScalars.
void addLowerToLlvm(mlir::OpPassManager& passes, bool scalarMath = false);

void registerPasses();

}  // namespace kiln::codegen
