// Rewrites on the kiln dialect, one pass per file. weight_passes.td has those that work on the weight table too.
#ifndef KILN_COMPILER_CORE_TRANSFORMS_PASSES_TD
#define KILN_COMPILER_CORE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SinkTransposesPass : Pass<"kiln-sink-transposes", "::mlir::func::FuncOp"> {
  let summary = "Transposes move towards the results until they meet";
  let description = [{
    Elementwise operations, softmax, reductions and concatenations of transposed values become transposes of their
    results, so that transposes meet and cancel.
  }];
}

def SinkReshapesPass : Pass<"kiln-sink-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Reshapes move behind the elementwise operations that follow them";
  let description = [{
    Elementwise operations of reshaped values become reshapes of their results, so that what stands on both sides of
    a change of shape (a product of flattened rows and its bias, the statistics of a normalisation and their
    formula) can become one kernel.
  }];
}

def RecogniseAttentionPass : Pass<"kiln-recognise-attention", "::mlir::func::FuncOp"> {
  let summary = "Product, softmax and product as one operation";
  let description = [{
    softmax(q x k * scale + mask) x v becomes kiln.attention, which never holds all scores. A row that the mask
    leaves nothing of gives zeros instead of NaN.
  }];
}

def HoistInvariantsPass : Pass<"kiln-hoist-invariants", "::mlir::func::FuncOp"> {
  let summary = "What a loop repeats in vain is done before it";
  let description = [{
    What a loop's body calculates from values around the loop alone moves before it.
  }];
}

def WidenPass : Pass<"kiln-widen", "::mlir::func::FuncOp"> {
  let summary = "Sums of 16-bit floats become sums in f32; what orders unsigned numbers orders signed ones";
  let description = [{
    Reductions, products, convolutions, pools and normalisations of f16 and bf16 calculate in f32 between casts, and
    round once; max and min over unsigned integers become those over signed ones.
  }];
  let dependentDialects = ["::kiln::ir::KilnDialect"];
}

def QuantisedProductsPass : Pass<"kiln-quantised-products", "::mlir::func::FuncOp"> {
  let summary = "Products of dequantised factors become integer products, scaled behind";
  let description = [{
    A product or convolution of two factors that are scale * (bytes - zero point) becomes an integer product with
    the scales behind it: what precision "int8" allows, the sums being exact where the model's are rounded at every
    step. Factors with a scale of their own per step of the sum, sums that could leave i32, and convolutions in
    groups stay. Where windows of one channel are multiplied by rows (ir/byte_windows.h), those do not stay.
  }];
  let options = [
    Option<"rowWindows", "row-windows", "bool", /*default=*/"false", "The target multiplies the rows of a window of bytes at once">,
  ];
}

def DecomposePass : Pass<"kiln-decompose", "::mlir::func::FuncOp"> {
  let summary = "Softmax, batch normalisation and long concatenations as simpler operations";
  let description = [{
    softmax and batch_norm become reductions and elementwise operations.
  }];
}

def SimplifyPass : Pass<"kiln-simplify", "::mlir::func::FuncOp"> {
  let summary = "Exact algebraic identities";
  let description = [{
    Exact identities only (x * 1, x - 0, -(-x), max(x, 0), transposes of transposes ...): never one that could
    change a bit of a result.
  }];
}

def FormGroupsPass : Pass<"kiln-form-groups", "::mlir::func::FuncOp"> {
  let summary = "Group elementwise chains with what feeds them";
  let description = [{
    Chains of elementwise operations, with the contraction, pooling or reduction that feeds them, become one
    kiln.fused each: what the scheduler makes one kernel of.
  }];
}

#endif
