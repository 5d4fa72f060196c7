#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/reference/inputs.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_SEEDWEIGHTSPASS
#include "compiler_core/transforms/weight_passes.h.inc"

namespace {

class SeedWeights : public impl::SeedWeightsPassBase<SeedWeights> {
 public:
  explicit SeedWeights(ir::WeightTable& weights) : weights_(&weights) {}

  void runOnOperation() final {
    constexpr std::int64_t kMaxWeights = 1024, kMaxBytes = 64 << 20;
    std::map<std::int64_t, mlir::RankedTensorType> wanted;
    getOperation().walk(
        [&](ir::WeightOp op) { wanted.emplace(op.getIndex(), ir::tensorType(op.getType())); });
    for (const auto& [index, type] : wanted) {
      auto bytes = ir::checkedBytes(type);
      if (index >= kMaxWeights || !bytes || *bytes > kMaxBytes) {
        getOperation().emitError() << "weight " << index << " is too large to be made up";
        return signalPassFailure();
      }
      while (weights_->size() < index) weights_->addOwned("", DType::kF32, {0}, {});
      if (weights_->size() > index) continue;
      std::string name = "weight " + std::to_string(index);
      auto tensor = reference::makeInput(name, *ir::dtypeOf(type.getElementType()), type.getShape().vec(), 0);
      weights_->addOwned(std::move(name), tensor.dtype, tensor.shape, tensor.bytes);
    }
  }

 private:
  ir::WeightTable* weights_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSeedWeightsPass(ir::WeightTable& weights) {
  return std::make_unique<SeedWeights>(weights);
}

}  // namespace kiln::transforms
