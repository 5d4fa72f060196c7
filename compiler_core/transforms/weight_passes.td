// Rewrites that make constants: large ones go into the weight table that travels beside the module and outlives the
// pass. registerPasses() registers them by hand, with the table that all of one command line share.
#ifndef KILN_COMPILER_CORE_TRANSFORMS_WEIGHT_PASSES_TD
#define KILN_COMPILER_CORE_TRANSFORMS_WEIGHT_PASSES_TD

include "mlir/Pass/PassBase.td"

class Kiln_WeightPass<string argument, string operation> : Pass<argument, operation> {
  let constructor = "create" # NAME # "(weights)";
}

def FoldConstantsPass : Kiln_WeightPass<"kiln-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Evaluate operations on constants";
  let description = [{
    An operation whose operands are all constants becomes its value, calculated by the reference evaluator. Results
    that would be larger than their operands stay calculated at run time unless they are splats.
  }];
}

def FoldBatchNormPass : Kiln_WeightPass<"kiln-fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Fold batch normalisations into convolutions";
  let description = [{
    A batch normalisation with constant parameters behind a convolution with a constant filter goes into filter and
    bias, calculated in f64 and rounded once.
  }];
}

def ByteProductsPass : Kiln_WeightPass<"kiln-byte-products", "::mlir::func::FuncOp"> {
  let summary = "Integer products of bytes less zero points become products of unsigned by signed bytes";
  let description = [{
    A product or convolution in i32 whose factors are bytes less zero points becomes one of the bytes as they are,
    one factor unsigned, the other signed, as dot product instructions take them, with the zero points' share
    subtracted. Exact: all of it wraps. Of interest where a target has such instructions.
  }];
}

def SeedWeightsPass : Kiln_WeightPass<"kiln-seed-weights", "::mlir::ModuleOp"> {
  let summary = "For kiln-opt: seeded values for kiln.weight";
  let description = [{
    For kiln-opt only, where no model file stands beside the module: gives every kiln.weight that the table does not
    have an entry of seeded values (reference/inputs.h, name "weight N", seed 0).
  }];
}

#endif
