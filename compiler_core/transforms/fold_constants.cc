#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/constants.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {
namespace {

class FoldConstants : public mlir::PassWrapper<FoldConstants, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldConstants)
  explicit FoldConstants(ir::WeightTable& weights) : weights_(&weights) {}
  llvm::StringRef getArgument() const final { return "kiln-fold-constants"; }
  llvm::StringRef getDescription() const final { return "Evaluate operations on constants"; }

  void runOnOperation() final {
    // Definitions come before uses, so one walk folds whole chains.
    llvm::SmallVector<mlir::Operation*> operations;
    getOperation().walk<mlir::WalkOrder::PreOrder>(
        [&](mlir::Operation* operation) { operations.push_back(operation); });
    for (mlir::Operation* operation : operations) fold(*operation);
  }

 private:
  void fold(mlir::Operation& operation) {
    const bool counts = llvm::isa<ir::IotaOp>(operation);
    if (operation.getNumResults() != 1 || operation.getNumRegions() ||
        (operation.getNumOperands() == 0 && !counts))
      return;
    if (operation.getDialect() != getContext().getLoadedDialect<ir::KilnDialect>()) return;
    if (!llvm::all_of(operation.getOperands(), isConstant) || moveSplat(operation)) return;
    auto bytes = ir::checkedBytes(ir::tensorType(operation.getResult(0)));
    std::int64_t given = 0;
    for (mlir::Value operand : operation.getOperands()) {
      auto size = ir::checkedBytes(ir::tensorType(operand));
      if (!size || *size > kMostBytes) return;
      given += *size;
    }
    const std::int64_t growth = counts ? kMostCounted : ir::kMaxConstantBytes;
    if (!bytes || *bytes > kMostBytes || (*bytes > given && *bytes > growth)) return;
    std::vector<reference::HostTensor> values;
    std::string name;
    for (mlir::Value operand : operation.getOperands()) {
      auto value = readConstant(operand, *weights_);
      if (!value) return;
      values.push_back(std::move(*value));
      if (name.empty()) name = weightName(operand, *weights_);
    }
    llvm::SmallVector<const reference::HostTensor*> operands;
    for (const auto& value : values) operands.push_back(&value);
    auto result = reference::evaluateOperation(&operation, operands);
    if (!result) return;
    mlir::OpBuilder builder(&operation);
    name += (name.empty() ? "" : "+") + ir::nodeName(operation.getLoc());
    replace(operation, makeConstant(builder, operation.getLoc(), *result, *weights_, std::move(name)));
  }

  // Moving the elements of a splat gives a splat, of any size.
  bool moveSplat(mlir::Operation& operation) {
    if (!llvm::isa<ir::BroadcastOp, ir::ReshapeOp, ir::TransposeOp, ir::SliceOp>(operation)) return false;
    if (!ir::tensorType(operation.getResult(0)).hasStaticShape()) return false;
    auto constant = operation.getOperand(0).getDefiningOp<ir::ConstantOp>();
    auto value = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
    if (!value || !value.isSplat()) return false;
    mlir::OpBuilder builder(&operation);
    auto splat = value.resizeSplat(ir::tensorType(operation.getResult(0)));
    replace(operation, ir::ConstantOp::create(builder, operation.getLoc(), splat.getType(), splat));
    return true;
  }

  static void replace(mlir::Operation& operation, mlir::Value constant) {
    operation.replaceAllUsesWith(mlir::ValueRange(constant));
    operation.erase();
  }

  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
  // Tables of positions along one dimension become data of the program; larger ones are counted out.
  static constexpr std::int64_t kMostCounted = std::int64_t{1} << 16;
  static bool isConstant(mlir::Value value) {
    return llvm::isa_and_nonnull<ir::ConstantOp, ir::WeightOp>(value.getDefiningOp());
  }

  ir::WeightTable* weights_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createFoldConstantsPass(ir::WeightTable& weights) {
  return std::make_unique<FoldConstants>(weights);
}

}  // namespace kiln::transforms
