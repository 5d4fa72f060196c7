// Passes from tensors to planned buffers.
#ifndef KILN_COMPILER_CORE_MEMORY_PASSES_TD
#define KILN_COMPILER_CORE_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def BufferizePass : Pass<"kiln-bufferize", "::mlir::ModuleOp"> {
  let summary = "Tensors become buffers; results are written in place of the caller";
  let description = [{
    Tensors of @main become memrefs. Arguments marked kiln.input/kiln.weight become buffers of dense row-major layout
    that are only read; each result becomes a further argument marked kiln.output that is only written.
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect"
  ];
}

def PlanMemoryPass : Pass<"kiln-plan-memory", "::mlir::func::FuncOp"> {
  let summary = "Give every buffer an offset in the arena or in its slot's scratch";
  let description = [{
    Every memref.alloc gets kiln.offset. Allocations inside an scf.forall lie in the scratch of the slot that runs
    the task, all others in the arena. @main gets kiln.arena_bytes, kiln.arena_total_bytes, kiln.arena_live_bytes,
    kiln.arena_buffers, kiln.arena_alive and kiln.scratch_bytes.

    For a device (after kiln-map-to-gpu), buffers of a block for which its shared memory is too little, the largest
    first, move to the arena, one piece per block; kiln.panel on a buffer keeps it as long as there are others. Each
    scf.forall gets "shared_bytes" in its kiln.kernel, and kiln.scratch_bytes is 0.
  }];
  let options = [
    Option<"sharedBytes", "shared-bytes", "std::uint64_t", "0", "What a block's buffers may take; 0: not for a device">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
}

#endif
