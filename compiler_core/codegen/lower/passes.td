// From planned buffers and vector code to the LLVM dialect, in the shape that the program ABI wants.
#ifndef KILN_COMPILER_CORE_CODEGEN_LOWER_PASSES_TD
#define KILN_COMPILER_CORE_CODEGEN_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineKernelsPass : Pass<"kiln-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Parallel loops become kernels, @main becomes @kiln_run_0";
  let description = [{
    Each scf.forall of @main becomes a function (environment, task, scratch) called through the table's parallel_for;
    @main becomes @kiln_run_<unit>, the run function of a profile or of one of its partitions, and
    @kiln_shapes_<unit> states its outputs' dimensions (program_abi.h). Kernels are named after the model's nodes;
    the schedule that kiln-tile left is kept as kiln.kernel on the function. The environment is the run's pointers
    from arena to symbols, and numbers that only the calling thread can know: kernels compute their buffers'
    addresses themselves. A dense part of a buffer becomes a buffer of its own.
  }];
  let constructor = "::kiln::codegen::createOutlineKernelsPass()";
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::affine::AffineDialect", "::mlir::func::FuncDialect",
    "::mlir::arith::ArithDialect"
  ];
}

def OutlineDeviceKernelsPass : Pass<"kiln-outline-device-kernels", "::mlir::ModuleOp"> {
  let summary = "Mapped parallel loops become functions of a gpu.module, @main becomes @kiln_run_0";
  let description = [{
    Each scf.forall of a mapped @main (kiln-map-to-gpu, planned) becomes a kernel gpu.func of the gpu.module
    @kiln_device, whose blocks are the loop's iterations. Its arguments are what the loop uses from outside, in that
    order: a pointer per dense buffer (the run function computes addresses, so equal layers are equal functions),
    its symbolic extents, indices and numbers. Buffers of a block become views of one workgroup attribution. @main
    becomes @kiln_run_<unit>, which fills a kiln_launch on its stack for each loop, calls the table's launch and
    returns what is not KILN_RUN_OK; kiln.launches on it holds each loop's kiln.kernel with its `symbol` and, where
    it runs the code of an equal kernel, that one's name as `code_of`.
  }];
  let constructor = "::kiln::codegen::createOutlineDeviceKernelsPass()";
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::affine::AffineDialect", "::mlir::func::FuncDialect",
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

def JoinPartitionsPass : Pass<"kiln-join-partitions", "::mlir::ModuleOp"> {
  let summary = "A @main of partitions and transfers becomes @kiln_run_0";
  let description = [{
    A @main of calls and transfers (ir/partition/partition_ops.h) becomes @kiln_run_<profile>, which calls
    @kiln_run_<profile>_<partition> in turn, and @kiln_shapes_<profile>. Each target has a region of the arena,
    planned from the lifetimes of what partitions hand on and of the partitions' own arenas: kiln.arena_bytes and
    the other totals of kiln-plan-memory, on the declarations @partition_<n>. Transfers are copies between regions.
    kiln.regions on the function says what the regions are. The region of a device's target is an arena of its own
    (kiln.device_arena_bytes); transfers to and from there call the table's copy, and wait comes before the
    processor reads what was copied to it.
  }];
  let constructor = "::kiln::codegen::createJoinPartitionsPass()";
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect"
  ];
}

def ShareKernelsPass : Pass<"kiln-share-kernels", "::mlir::ModuleOp"> {
  let summary = "Kernels that do the same call one function";
  let description = [{
    Kernels whose code differs in nothing but the addresses that it reads from the environment (the layers of one
    shape) keep these addresses and call one function, <first kernel>_code; all but the first say so in
    kiln.code_of. What a program costs to compile then grows with its distinct layers.
  }];
}

def MathToCallsPass : Pass<"kiln-math-to-calls", "::mlir::ModuleOp"> {
  let summary = "Transcendental functions become calls of Kiln's math library";
  let description = [{
    Every transcendental function that compiler_core/math has becomes a call of the math library, in the widths it
    has, or one call for each lane, for devices without vector registers.
  }];
  let constructor = "::kiln::codegen::createMathToCallsPass()";
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::vector::VectorDialect"];
}

def LibraryCallsPass : Pass<"kiln-library-calls", "::mlir::ModuleOp"> {
  let summary = "kiln.call becomes a call of the kernel library";
  let description = [{
    kiln.call on buffers becomes a call of the kernel library (compiler_core/kernels/README.md has the convention).
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ConvertToLlvmPass : Pass<"kiln-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "All that is left becomes the LLVM dialect, in one conversion";
  let description = [{
    Vectors, arithmetic, buffers, control flow and functions are converted together, with upstream's patterns. One
    conversion for each of them would walk the module and cast every value at the border of two dialects again each time,
    which is most of what lowering a large network took.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
