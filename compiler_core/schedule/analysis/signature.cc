#include "compiler_core/schedule/analysis/signature.h"

#include "compiler_core/ir/attributes.h"
#include "manifest/base/digest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

class Isolation {
 public:
  Isolation(ArrayRef<Operation*> members, const Environment& environment)
      : members_(members.begin(), members.end()),
        root_(members.front()),
        b_(root_->getContext()),
        loc_(b_.getUnknownLoc()),
        module_(ModuleOp::create(loc_)) {
    llvm::sort(members_, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
    ModuleOp module = *module_;
    const SmallVector<StringRef> features(environment.features.begin(), environment.features.end());
    ir::TargetAttr::set(module, b_.getStringAttr(environment.target));
    ir::FeaturesAttr::set(module, b_.getStrArrayAttr(features));
    ir::ContractionAttr::set(module, b_.getBoolAttr(environment.contraction));
    if (environment.tf32) ir::Tf32Attr::set(module, b_.getBoolAttr(true));
    if (environment.reassociation != Reassociation::kOff)
      ir::ReassociationAttr::set(module, b_.getBoolAttr(true));
    b_.setInsertionPointToStart(module.getBody());
    main_ = func::FuncOp::create(b_, loc_, ir::kMain, b_.getFunctionType({}, root_->getResultTypes()));
    main_.addEntryBlock();
  }

  std::optional<std::string> text() {
    b_.setInsertionPointToEnd(&main_.front());
    for (Operation* op : members_) {
      // What it writes counts as what it reads: a buffer of somebody else's has no size in here.
      if (!llvm::all_of(op->getOperandTypes(), isFixed)) return std::nullopt;
      auto member = cast<linalg::LinalgOp>(op);
      for (OpOperand& operand : op->getOpOperands()) {
        if (isFilledOver(member, operand)) continue;
        if (!bring(operand.get())) return std::nullopt;
      }
      llvm::SetVector<Value> captured;
      getUsedValuesDefinedAbove(op->getRegions(), captured);
      for (Value value : captured)
        if (!bring(value)) return std::nullopt;
      Operation* copy = b_.clone(*op, map_);
      for (OpOperand& operand : op->getOpOperands())
        if (isFilledOver(member, operand))
          copy->setOperand(operand.getOperandNumber(), emptyLike(copy, operand));
      strip(copy);
    }
    const SmallVector<Value> results =
        llvm::map_to_vector(root_->getResults(), [&](Value value) { return map_.lookup(value); });
    func::ReturnOp::create(b_, loc_, results);
    std::string text;
    llvm::raw_string_ostream(text) << *module_ << "\n";
    return text;
  }

 private:
  static bool isFixed(Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || shaped.hasStaticShape();
  }

  // Written without being read, from a buffer that somebody else made.
  bool isFilledOver(linalg::LinalgOp op, OpOperand& operand) {
    if (!op.isDpsInit(&operand) || op.payloadUsesValueFromOperand(&operand)) return false;
    Operation* source = operand.get().getDefiningOp();
    return !source || (!isa<tensor::EmptyOp>(source) && !map_.contains(operand.get()));
  }
  Value emptyLike(Operation* before, OpOperand& operand) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(before);
    auto type = cast<RankedTensorType>(operand.get().getType());
    return tensor::EmptyOp::create(b_, loc_, type.getShape(), type.getElementType());
  }

  // Makes `value` known inside: false where it cannot be.
  bool bring(Value value) {
    if (map_.contains(value)) return true;
    Operation* source = value.getDefiningOp();
    if (source && (isNumber(source) || isa<tensor::EmptyOp>(source))) {
      if (!llvm::all_of(source->getOperands(), [&](Value operand) { return bring(operand); })) return false;
      strip(b_.clone(*source, map_));
      return true;
    }
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !type.hasStaticShape()) return false;
    map_.map(value, argument(value, type));
    return true;
  }

  // A constant that is one number; others are data, as weights are, and two layers differ in them.
  static bool isNumber(Operation* op) {
    Attribute value;
    return matchPattern(op, m_Constant(&value)) &&
           (!isa<ElementsAttr>(value) || isa<SplatElementsAttr>(value));
  }

  Value argument(Value value, RankedTensorType type) {
    const unsigned index = main_.getNumArguments();
    auto outer = dyn_cast<BlockArgument>(value);
    auto function = outer ? dyn_cast<func::FuncOp>(outer.getOwner()->getParentOp()) : func::FuncOp();
    const bool isWeight = matchPattern(value, m_Constant()) ||
                          (function && ir::WeightAttr::isOn(function, outer.getArgNumber()));
    SmallVector<NamedAttribute> attributes;
    if (isWeight) {
      attributes.push_back(ir::SourceAttr::named(b_.getI64IntegerAttr(weights_)));
      attributes.push_back(ir::WeightAttr::named(b_.getI64IntegerAttr(weights_++)));
    } else {
      attributes.push_back(ir::InputAttr::named(b_.getI64IntegerAttr(inputs_++)));
    }
    (void)main_.insertArgument(index, type, b_.getDictionaryAttr(attributes), loc_);
    return main_.getArgument(index);
  }

  void strip(Operation* op) {
    ir::GroupAttr::remove(op);
    op->walk([&](Operation* inner) { inner->setLoc(loc_); });
  }

  SmallVector<Operation*> members_;  // in the order of the block
  Operation* root_;
  OpBuilder b_;
  Location loc_;
  OwningOpRef<ModuleOp> module_;
  func::FuncOp main_;
  IRMapping map_;
  std::int64_t inputs_ = 0, weights_ = 0;
};

}  // namespace

std::optional<std::string> isolate(ArrayRef<Operation*> members, const Environment& environment) {
  return Isolation(members, environment).text();
}

std::string signatureOf(const std::string& isolated) {
  return digestOf(isolated).text();
}

}  // namespace kiln::schedule
