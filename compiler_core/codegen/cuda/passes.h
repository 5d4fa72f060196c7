// From mapped kernels to functions: the two ways of a gpu.module, which differ in nothing but the operations
// that a device has and a CPU has not.
//
// Both passes work on a module that holds one gpu.module of kernels (gpu.func with kiln.threads) and leave in
// its place a func.func per kernel, in the same order, with what the gpu.module had of memref.global. What
// they take of gpu and nvvm: gpu.thread_id, gpu.block_id, gpu.block_dim, gpu.lane_id, gpu.subgroup_id,
// gpu.barrier, gpu.return, workgroup attributions of static shape, and nvvm.mma.sync in the shapes that
// emulated_abi.h names. Anything else of these dialects is refused by name, on both ways alike: what cannot
// be emulated is not compiled. Parameters are LLVM pointers, integers, floats, indices, and dense memrefs of
// static shape as bare pointers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace mlir {
class ModuleOp;
class Pass;
}  // namespace mlir

namespace kiln::codegen {

// A kernel of a module before it is lowered.
struct MappedKernel {
  std::string name;
  std::uint32_t threads = 0, sharedBytes = 0;
  std::string parameters;  // kiln_emulated_entry.parameters
};

// In the order of the functions. kInternal: no gpu.module or several, or a kernel without a sound
// kiln.threads.
Result<std::vector<MappedKernel>> mappedKernels(mlir::ModuleOp module);

// createLowerToNvvmPass() and createLowerToEmulationPass(): passes.td says what they do.
#define GEN_PASS_DECL
#include "compiler_core/codegen/cuda/passes.h.inc"

}  // namespace kiln::codegen
