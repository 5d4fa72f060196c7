// Passes from the kiln dialect to vector code on buffers. In the order of use:
//   kiln-lower-to-linalg, kiln-fuse-elementwise, kiln-tile, (memory: kiln-bufferize), kiln-vectorize.
// For a device kiln-tile has rules of its own, and kiln-map-to-gpu stands in the place of kiln-vectorize.
#ifndef KILN_COMPILER_CORE_SCHEDULE_PASSES_TD
#define KILN_COMPILER_CORE_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToLinalgPass : Pass<"kiln-lower-to-linalg", "::mlir::ModuleOp"> {
  let summary = "From the kiln dialect to linalg on tensors";
  let description = [{
    @main on kiln operations becomes @main on linalg. Its arguments are marked kiln.input = i; each weight in use
    becomes a further argument marked kiln.weight = slot and kiln.source = index in the weight table, with
    kiln.permutation where a transposed copy is wanted, kiln.words = [axis, steps] where packed dot operands are.
    Bodies of kiln.fused are inlined and keep one kiln.group.

    For a device, products read f16 and bf16 as stored, for tensor cores. Products of what the dot products of a
    target take, as it is stored, are products of packed dot operands.
  }];
  let options = [
    Option<"device", "device", "bool", "false", "For a device with tensor cores">,
    Option<"byteDots", "byte-dots", "bool", "false", "Products of bytes are products of packed dot operands">,
    Option<"bf16Dots", "bf16-dots", "bool", "false", "Products of bf16 are products of packed dot operands">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FuseElementwisePass : Pass<"kiln-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Elementwise operations of one group become one";
  let description = [{
    Within a group, elementwise operations become one; results reuse their operand's buffer.
  }];
}

def TilePass : Pass<"kiln-tile", "::mlir::func::FuncOp"> {
  let summary = "Each group becomes a parallel loop over tiles";
  let description = [{
    Each group becomes an scf.forall over tiles, with the schedule in its kiln.kernel. Schedules are chosen by shape
    alone, never by thread count. For a device, a tile is what a block of threads makes, and the schedule names
    their number ("threads"); a group that is one operation stays as it is, with its schedule.
  }];
  let constructor = "::kiln::schedule::createTilePass()";
  let options = [
    Option<"device", "device", "bool", "false", "Tiles are what a block of a device's threads makes">,
    Option<"target", "target", "std::string", "", "Kernels get signatures, as for this target">,
    Option<"reassociation", "reassociation", "bool", "false", "Schedules may change the order of sums">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def VectorizePass : Pass<"kiln-vectorize", "::mlir::func::FuncOp"> {
  let summary = "Linalg on buffers becomes loops around blocks of vector registers";
  let description = [{
    Linalg on buffers becomes loops around blocks of vector registers, or plain loops where the access pattern allows
    no vectors.
  }];
  let constructor = "::kiln::schedule::createVectorizePass()";
  let options = [
    Option<"masks", "masks", "bool", "false", "Parts of registers are loaded and stored under a mask">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def MapToGpuPass : Pass<"kiln-map-to-gpu", "::mlir::func::FuncOp"> {
  let summary = "Linalg on buffers becomes blocks of a device's threads";
  let description = [{
    What @main does becomes scf.forall loops over blocks of threads, with "threads" in kiln.kernel. Inside one:
    gpu.thread_id x, gpu.barrier between the phases (one linalg operation each), memref.alloc of block-local
    buffers, and no linalg any more. Operations beside the loops become loops of their own. An error names what has
    no form for devices, and any effect that not exactly one thread has.
  }];
  let constructor = "::kiln::schedule::createMapToGpuPass()";
  let options = [
    Option<"tf32", "tf32", "bool", "false", "Products of f32 may be products of tf32">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

#endif
