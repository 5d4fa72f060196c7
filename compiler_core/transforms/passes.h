// Rewrites on the kiln dialect, one pass per file. Passes that make constants put large ones into the weight
// table that travels beside the module; the table outlives the pass.
#pragma once

#include <memory>

#include "compiler_core/ir/weight_table.h"

namespace mlir {
class Pass;
}

namespace kiln::transforms {

// kiln-fold-constants: an operation whose operands are all constants becomes its value, calculated by the
// reference evaluator. Results that would be larger than their operands stay calculated at run time unless
// they are splats.
std::unique_ptr<mlir::Pass> createFoldConstantsPass(ir::WeightTable& weights);

// kiln-fold-batch-norm: a batch normalisation with constant parameters behind a convolution with a constant
// filter goes into filter and bias, calculated in f64 and rounded once.
std::unique_ptr<mlir::Pass> createFoldBatchNormPass(ir::WeightTable& weights);

// kiln-sink-transposes: elementwise operations, softmax, reductions and concatenations of transposed values
// become transposes of their results, so that transposes meet and cancel.
std::unique_ptr<mlir::Pass> createSinkTransposesPass();

// kiln-sink-reshapes: elementwise operations of reshaped values become reshapes of their results, so that
// what stands on both sides of a change of shape (a product of flattened rows and its bias, the statistics of
// a normalisation and their formula) can become one kernel.
std::unique_ptr<mlir::Pass> createSinkReshapesPass();

// kiln-recognise-attention: softmax(q x k * scale + mask) x v becomes kiln.attention, which never holds all
// scores. A row that the mask leaves nothing of gives zeros instead of NaN.
std::unique_ptr<mlir::Pass> createRecogniseAttentionPass();

// kiln-hoist-invariants: what a loop's body calculates from values around the loop alone moves before it.
std::unique_ptr<mlir::Pass> createHoistInvariantsPass();

// kiln-widen: reductions, products, convolutions, pools and normalisations of f16 and bf16 calculate in f32
// between casts, and round once; max and min over unsigned integers become those over signed ones.
std::unique_ptr<mlir::Pass> createWidenPass();

// kiln-quantised-products: a product or convolution of two factors that are scale * (bytes - zero point)
// becomes an integer product with the scales behind it: what precision "int8" allows, the sums being exact
// where the model's are rounded at every step. Factors with a scale of their own per step of the sum, sums
// that could leave i32, and convolutions in groups stay.
std::unique_ptr<mlir::Pass> createQuantisedProductsPass();

// kiln-byte-products: a product or convolution in i32 whose factors are bytes less zero points becomes one of
// the bytes as they are, one factor unsigned, the other signed, as dot product instructions take them, with
// the zero points' share subtracted. Exact: all of it wraps. Of interest where a target has such
// instructions.
std::unique_ptr<mlir::Pass> createByteProductsPass(ir::WeightTable& weights);

// kiln-decompose: softmax and batch_norm become reductions and elementwise operations.
std::unique_ptr<mlir::Pass> createDecomposePass();

// kiln-simplify: exact identities only (x * 1, x - 0, -(-x), max(x, 0), transposes of transposes ...): never
// one that could change a bit of a result.
std::unique_ptr<mlir::Pass> createSimplifyPass();

// kiln-form-groups: chains of elementwise operations, with the contraction, pooling or reduction that feeds
// them, become one kiln.fused each: what the scheduler makes one kernel of.
std::unique_ptr<mlir::Pass> createFormGroupsPass();

// kiln-seed-weights, for kiln-opt only, where no model file stands beside the module: gives every kiln.weight
// that the table does not have an entry of seeded values (reference/inputs.h, name "weight N", seed 0).
std::unique_ptr<mlir::Pass> createSeedWeightsPass(ir::WeightTable& weights);

// Makes all of them known to kiln-opt. Passes of one command line share `weights`, which must outlive them.
void registerPasses(ir::WeightTable& weights);

}  // namespace kiln::transforms
