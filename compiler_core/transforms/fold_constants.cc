#include "compiler_core/transforms/fold_constants.h"

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/constants.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "compiler_core/transforms/weight_passes.h.inc"

namespace {

class FoldConstants : public impl::FoldConstantsPassBase<FoldConstants> {
 public:
  FoldConstants(ir::WeightTable& weights, std::string spool) : weights_(&weights), spool_(std::move(spool)) {}

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
    if (auto transpose = llvm::dyn_cast<ir::TransposeOp>(operation); transpose && transposeNarrow(transpose))
      return;
    if (!llvm::all_of(operation.getOperands(), isConstant) || moveSplat(operation) || foldSplats(operation))
      return;
    auto bytes = ir::checkedBytes(ir::tensorType(operation.getResult(0)));
    std::int64_t given = 0;
    for (mlir::Value operand : operation.getOperands()) {
      auto size = ir::checkedBytes(ir::tensorType(operand));
      if (!size || *size > kMaxBytes) return;
      given += *size;
    }
    const std::int64_t growth = counts ? kMaxCounted : ir::kMaxConstantBytes;
    if (!bytes || *bytes > kMaxBytes || (*bytes > given && *bytes > growth)) return;
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
    replace(operation, makeConstant(builder, operation.getLoc(), std::move(*result), *weights_,
                                    std::move(name), spool_));
  }

  // A constant that is widened and transposed is transposed first, so that the narrow one is what is kept.
  bool transposeNarrow(ir::TransposeOp transpose) {
    auto cast = transpose.getInput().getDefiningOp<ir::CastOp>();
    if (!cast || !isConstant(cast.getInput())) return false;
    const mlir::Type narrow = ir::tensorType(cast.getInput()).getElementType();
    if (narrow.getIntOrFloatBitWidth() >= ir::tensorType(cast).getElementType().getIntOrFloatBitWidth())
      return false;
    mlir::OpBuilder builder(transpose);
    auto first = ir::TransposeOp::create(builder, transpose.getLoc(),
                                         ir::tensorTypeOf(ir::shapeOf(ir::tensorType(transpose)), narrow),
                                         cast.getInput(), transpose.getPermutation());
    auto then = llvm::cast<ir::CastOp>(builder.clone(*cast));
    then->setOperand(0, first);
    then->getResult(0).setType(transpose.getType());
    transpose.replaceAllUsesWith(then.getResult());
    transpose.erase();
    fold(*first);
    return true;
  }

  // Moving the elements of a splat gives a splat, of any size.
  bool moveSplat(mlir::Operation& operation) {
    if (!llvm::isa<ir::BroadcastOp, ir::ReshapeOp, ir::TransposeOp, ir::SliceOp>(operation)) return false;
    if (!ir::tensorType(operation.getResult(0)).hasStaticShape()) return false;
    mlir::DenseElementsAttr value = splatOf(operation.getOperand(0));
    if (!value) return false;
    mlir::OpBuilder builder(&operation);
    auto splat = value.resizeSplat(ir::tensorType(operation.getResult(0)));
    replace(operation, ir::ConstantOp::create(builder, operation.getLoc(), splat.getType(), splat));
    return true;
  }

  // Elementwise work on splats gives a splat, of any size: that of one element.
  bool foldSplats(mlir::Operation& operation) {
    if (!llvm::isa<ir::CastOp, ir::UnaryOp, ir::BinaryOp>(operation)) return false;
    const auto type = ir::tensorType(operation.getResult(0));
    if (!type.hasStaticShape()) return false;
    mlir::OpBuilder builder(&operation);
    mlir::IRMapping single;
    llvm::SmallVector<mlir::Operation*> made;
    for (mlir::Value operand : operation.getOperands()) {
      mlir::DenseElementsAttr value = splatOf(operand);
      if (!value) break;
      made.push_back(
          ir::ConstantOp::create(builder, operation.getLoc(), value.resizeSplat(oneOf(value.getType()))));
      single.map(operand, made.back()->getResult(0));
    }
    mlir::Value constant;
    if (made.size() == operation.getNumOperands()) {
      mlir::Operation* element = builder.clone(operation, single);
      element->getResult(0).setType(oneOf(type));
      constant = analysis::foldSmall(builder, element);
      if (!constant) element->erase();
    }
    mlir::DenseElementsAttr splat = constant ? splatOf(constant) : nullptr;
    if (constant) made.push_back(constant.getDefiningOp());
    if (splat)
      replace(operation, ir::ConstantOp::create(builder, operation.getLoc(), splat.resizeSplat(type)));
    for (mlir::Operation* op : made) op->erase();
    return splat != nullptr;
  }

  static mlir::ShapedType oneOf(mlir::ShapedType type) {
    const llvm::SmallVector<std::int64_t> ones(static_cast<std::size_t>(type.getRank()), 1);
    return mlir::RankedTensorType::get(ones, type.getElementType());
  }
  static mlir::DenseElementsAttr splatOf(mlir::Value value) {
    auto constant = value.getDefiningOp<ir::ConstantOp>();
    auto elements = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
    return elements && elements.isSplat() ? elements : nullptr;
  }

  static void replace(mlir::Operation& operation, mlir::Value constant) {
    operation.replaceAllUsesWith(mlir::ValueRange(constant));
    operation.erase();
  }

  static constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;
  // Tables of positions along one dimension become data of the program; larger ones are counted out.
  static constexpr std::int64_t kMaxCounted = std::int64_t{1} << 16;
  static bool isConstant(mlir::Value value) {
    return llvm::isa_and_nonnull<ir::ConstantOp, ir::WeightOp>(value.getDefiningOp());
  }

  ir::WeightTable* weights_;
  std::string spool_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createFoldConstantsPass(ir::WeightTable& weights, const std::string& spool) {
  return std::make_unique<FoldConstants>(weights, spool);
}

std::unique_ptr<mlir::Pass> createFoldConstantsPass(ir::WeightTable& weights) {
  return createFoldConstantsPass(weights, {});
}

}  // namespace kiln::transforms
