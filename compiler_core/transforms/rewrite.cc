#include "compiler_core/transforms/rewrite.h"

#include <set>

#include "compiler_core/ir/processor_time.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/fold_constants.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace kiln::transforms {
namespace {

std::int64_t countOperations(mlir::ModuleOp module) {
  std::int64_t count = 0;
  module.walk([&](mlir::Operation* operation) {
    if (!llvm::isa<mlir::ModuleOp, mlir::func::FuncOp, mlir::func::ReturnOp, ir::YieldOp>(operation)) ++count;
  });
  return count;
}

class Pipeline {
 public:
  Pipeline(mlir::ModuleOp module, const RewriteOptions& options) : module_(module), options_(options) {}

  // Runs one pass on every function, verifies after it, and notes what it did.
  Status run(std::unique_ptr<mlir::Pass> pass) {
    std::string name = pass->getArgument().str(), complaint;
    names_.insert(name);
    if (llvm::is_contained(options_.disabled, name)) {
      const std::int64_t count = countOperations(module_);
      evidence_.passes.push_back({std::move(name), {{"disabled", "true"}}, count, count});
      return {};
    }
    const double start = ir::threadSeconds();
    mlir::ScopedDiagnosticHandler handler(module_.getContext(), [&](mlir::Diagnostic& diagnostic) {
      complaint += (complaint.empty() ? "" : "; ") + diagnostic.str();
      return mlir::success();
    });
    mlir::PassManager manager(module_.getContext());
    manager.enableVerifier(true);
    manager.addNestedPass<mlir::func::FuncOp>(std::move(pass));
    ir::PassEvidence evidence{name, {}, countOperations(module_), 0};
    if (failed(manager.run(module_))) return fail(Code::kInternal, "pass " + name + " failed: " + complaint);
    evidence.after = countOperations(module_);
    if (options_.onPass) options_.onPass(evidence.name, ir::threadSeconds() - start);
    evidence_.passes.push_back(std::move(evidence));
    return {};
  }

  Result<ir::RewriteEvidence> finish() {
    for (const std::string& name : options_.disabled)
      if (!names_.contains(name)) return unknown(name);
    module_.walk([&](ir::FusedOp fused) {
      ir::FusionGroup group{ir::nodeNames(fused.getLoc()), {}};
      for (mlir::Operation& operation : fused.getBody().front().without_terminator()) {
        std::string text = operation.getName().getStringRef().str();
        if (auto unary = llvm::dyn_cast<ir::UnaryOp>(operation))
          text += (" " + ir::stringifyUnaryKind(unary.getKind())).str();
        if (auto binary = llvm::dyn_cast<ir::BinaryOp>(operation))
          text += (" " + ir::stringifyBinaryKind(binary.getKind())).str();
        group.operations.push_back(std::move(text));
      }
      evidence_.groups.push_back(std::move(group));
    });
    return std::move(evidence_);
  }

 private:
  tl::unexpected<Error> unknown(const std::string& name) const {
    std::string known;
    std::set<std::string> all = names_;
    all.insert(options_.otherPasses.begin(), options_.otherPasses.end());
    for (const std::string& pass : all) known += (known.empty() ? "" : ", ") + pass;
    return fail(Code::kFailedPrecondition,
                "no pass is named '" + name + "' and could be disabled; there are " + known);
  }

  mlir::ModuleOp module_;
  const RewriteOptions& options_;
  std::set<std::string> names_;
  ir::RewriteEvidence evidence_;
};

}  // namespace

Result<ir::RewriteEvidence> rewrite(mlir::ModuleOp module, ir::WeightTable& weights,
                                    const RewriteOptions& options) {
  Pipeline pipeline(module, options);
  // What the frontend left behind: unused constants, shape changes that change nothing, repeated
  // subexpressions.
  KILN_TRY(pipeline.run(mlir::createCanonicalizerPass()));
  KILN_TRY(pipeline.run(mlir::createCSEPass()));
  // Before anything grows: a loop runs its body many times.
  KILN_TRY(pipeline.run(createHoistInvariantsPass()));
  // Transposed and scaled weights become plain weights, so that a filter is seen as constant by what follows.
  KILN_TRY(pipeline.run(createFoldConstantsPass(weights, options.spool)));
  // While scales and zero points stand beside the bytes.
  if (options.quantised)
    KILN_TRY(pipeline.run(createQuantisedProductsPass({.rowWindows = options.byteDots})));
  // While weights are bytes and zero points stand beside them; then weights of the other sign, or transposed,
  // become weights again, before their transposes move.
  if (options.byteDots) {
    KILN_TRY(pipeline.run(createByteProductsPass(weights)));
    KILN_TRY(pipeline.run(createFoldConstantsPass(weights, options.spool)));
  }
  // Layout changes of the source format meet and cancel before patterns look for neighbours.
  KILN_TRY(pipeline.run(createSinkTransposesPass()));
  // While softmax is still one operation.
  KILN_TRY(pipeline.run(createRecogniseAttentionPass()));
  // While a batch normalisation is still one operation it can vanish into the convolution before it.
  KILN_TRY(pipeline.run(createFoldBatchNormPass(weights)));
  // Before formulas are taken apart, so that one of 16-bit floats is rounded once and not at every step.
  KILN_TRY(pipeline.run(createWidenPass()));
  // The rest of them, and softmax, as operations that fuse with their neighbours.
  KILN_TRY(pipeline.run(createDecomposePass()));
  // The parameters of what was just taken apart.
  KILN_TRY(pipeline.run(createFoldConstantsPass(weights, options.spool)));
  // Kept dimensions of a reduction, and rows flattened for a product, stand between operations of one kernel.
  KILN_TRY(pipeline.run(createSinkReshapesPass()));
  // Identities show only now that constants are splats.
  KILN_TRY(pipeline.run(createSimplifyPass()));
  KILN_TRY(pipeline.run(mlir::createCanonicalizerPass()));
  KILN_TRY(pipeline.run(mlir::createCSEPass()));
  // Last, because a group hides its operations from every pass above.
  KILN_TRY(pipeline.run(createFormGroupsPass()));
  return pipeline.finish();
}

}  // namespace kiln::transforms
