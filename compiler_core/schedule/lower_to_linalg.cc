#include <map>

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/schedule/analysis/weight_arguments.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "compiler_core/schedule/lower/packed.h"
#include "compiler_core/schedule/passes.h"
#include "compiler_core/schedule/strategies/contract/device_form.h"
#include "compiler_core/schedule/strategies/registry.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace kiln::schedule {

#define GEN_PASS_DEF_LOWERTOLINALGPASS
#include "compiler_core/schedule/passes.h.inc"

namespace {

using namespace mlir;

// The arguments of the function that is made. Its type and their attributes are set once, at the end: each
// argument by itself would make both lists anew.
class Arguments {
 public:
  explicit Arguments(func::FuncOp to) : to_(to), b_(to.getContext()) {}

  // For the next one that the block has already.
  void describe(ArrayRef<NamedAttribute> attributes) {
    attributes_.push_back(b_.getDictionaryAttr(attributes));
  }
  Value add(Type type, ArrayRef<NamedAttribute> attributes, Location loc) {
    describe(attributes);
    return to_.front().addArgument(type, loc);
  }
  void finish(TypeRange results) {
    to_.setFunctionType(b_.getFunctionType(to_.front().getArgumentTypes(), results));
    to_.setAllArgAttrs(attributes_);
  }

 private:
  func::FuncOp to_;
  Builder b_;
  SmallVector<DictionaryAttr> attributes_;
};

// The weights of a program: each combination of table entry and layout is one argument of @main.
class Weights {
 public:
  explicit Weights(Arguments& arguments) : arguments_(arguments) {}

  Value get(std::int64_t source, ArrayRef<std::int64_t> permutation, ArrayRef<std::int64_t> dotPacking,
            Type type, Location loc) {
    auto [place, isNew] = slots_.try_emplace({source, permutation.vec(), dotPacking.vec()});
    if (!isNew) return place->second;
    Builder b(type.getContext());
    SmallVector<NamedAttribute> attributes = {
        ir::WeightAttr::named(b.getI64IntegerAttr(static_cast<std::int64_t>(slots_.size()) - 1)),
        ir::SourceAttr::named(b.getI64IntegerAttr(source))};
    if (!permutation.empty())
      attributes.push_back(ir::PermutationAttr::named(b.getDenseI64ArrayAttr(permutation)));
    if (!dotPacking.empty())
      attributes.push_back(ir::DotLayoutAttr::named(b.getDenseI64ArrayAttr(dotPacking)));
    return place->second = arguments_.add(Lowering::convert(type), attributes, loc);
  }

 private:
  Arguments& arguments_;
  using Layout = std::tuple<std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>>;
  std::map<Layout, Value> slots_;
};

class FunctionLowering {
 public:
  FunctionLowering(OpBuilder& builder, Arguments& arguments, bool forDevice, DotProducts dots)
      : lowering_(builder, forDevice, dots), weights_(arguments), forDevice_(forDevice) {
    if (forDevice) lowering_.setWholeForms([this](Operation* op) { return wholeForm(op); });
    if (forDevice || dots.any())
      lowering_.setWeightLayouts([this](ir::WeightOp weight, ArrayRef<std::int64_t> permutation,
                                        std::optional<Lowering::DotPacking> dotPacking) {
        ir::Shape shape = ir::shapeOf(ir::tensorType(weight));
        if (dotPacking) {
          shape[dotPacking->axis] =
              (shape[dotPacking->axis].value() + dotPacking->steps - 1) / dotPacking->steps;
          const Type type = ir::tensorTypeOf(shape, IntegerType::get(weight.getContext(), 32));
          return weights_.get(weight.getIndex(), {}, {dotPacking->axis, dotPacking->steps}, type,
                              weight.getLoc());
        }
        ir::Shape permutedShape;
        for (const std::int64_t dim : permutation) permutedShape.push_back(shape[dim]);
        const Type type = ir::tensorTypeOf(permutedShape, ir::tensorType(weight).getElementType());
        return weights_.get(weight.getIndex(), permutation, {}, type, weight.getLoc());
      });
  }
  Lowering& lowering() { return lowering_; }

  LogicalResult block(Block& block) {
    for (Operation& op : block.without_terminator())
      if (failed(one(&op))) return failure();
    return success();
  }

 private:
  // On devices.
  Value wholeForm(Operation* op) {
    for (const Strategy* strategy : strategies())
      if (strategy->device && strategy->device->lower)
        if (Value result = strategy->device->lower(lowering_, op)) return result;
    return {};
  }

  LogicalResult one(Operation* op) {
    IRMapping& values = lowering_.values();
    if (auto weight = dyn_cast<ir::WeightOp>(op)) {
      // Only wanted in another layout: that is what the program gets.
      if (!op->use_empty() &&
          llvm::all_of(op->getUsers(), [](Operation* user) { return isa<ir::TransposeOp>(user); }))
        return success();
      lowering_.map(weight.getResult(),
                    weights_.get(weight.getIndex(), {}, {}, weight.getType(), op->getLoc()));
      return success();
    }
    if (auto transpose = dyn_cast<ir::TransposeOp>(op))
      // Laid out once, when the program is packaged.
      if (auto weight = transpose.getInput().getDefiningOp<ir::WeightOp>()) {
        lowering_.map(transpose.getResult(), weights_.get(weight.getIndex(), transpose.getPermutation(), {},
                                                          transpose.getType(), op->getLoc()));
        return success();
      }
    if (auto packed = dyn_cast<ir::DequantiseOp>(op); packed && !forDevice_ && isOnlyMultiplied(packed))
      return success();  // its products take it as it is
    if (auto fused = dyn_cast<ir::FusedOp>(op)) {
      lowering_.nextGroup();
      Block& body = fused.getBody().front();
      for (auto [argument, input] : llvm::zip_equal(body.getArguments(), fused.getInputs()))
        if (Value lowered = values.lookupOrNull(input)) lowering_.map(argument, lowered);
      for (Operation& inner : body.without_terminator())
        if (failed(lowering_.lower(&inner))) return failure();
      for (auto [result, value] : llvm::zip_equal(fused.getResults(), body.getTerminator()->getOperands()))
        lowering_.map(result, values.lookup(value));
      return success();
    }
    if (auto branch = dyn_cast<ir::IfOp>(op))
      return lowering_.branch(branch, [&](Block& body) { return block(body); });
    if (auto loop = dyn_cast<ir::LoopOp>(op))
      return lowering_.loop(loop, [&](Block& body) { return block(body); });
    lowering_.nextGroup();
    return lowering_.lower(op);
  }

  Lowering lowering_;
  Weights weights_;
  bool forDevice_;
};

struct LowerToLinalgPass : impl::LowerToLinalgPassBase<LowerToLinalgPass> {
  using Base::Base;

  // One index argument for each symbol that the caller knows.
  static void addSymbols(func::FuncOp from, func::FuncOp to, Arguments& arguments, Lowering& lowering) {
    const auto profile = ir::profileOf(from);
    if (profile.empty()) return;
    ir::setProfile(to, profile);
    llvm::SmallDenseSet<std::int64_t> found;
    from.walk([&](ir::TruncateOp op) { found.insert(op.getSymbol()); });
    Builder b(from.getContext());
    for (unsigned i = 0; i < profile.size(); ++i) {
      if (found.contains(i)) continue;
      lowering.defineSymbol(
          i, arguments.add(b.getIndexType(), ir::SymbolAttr::named(b.getI64IntegerAttr(i)), from.getLoc()));
    }
  }

  void runOnOperation() override {
    auto from = getOperation().lookupSymbol<func::FuncOp>(ir::kMain);
    if (!from || from.isExternal() || !from.getBody().hasOneBlock()) {
      getOperation().emitError("expected a function @main with one block");
      return signalPassFailure();
    }
    OpBuilder builder(from);
    auto convertAll = [](TypeRange types) {
      return llvm::map_to_vector(types, [](Type type) -> Type { return Lowering::convert(type); });
    };
    auto type =
        builder.getFunctionType(convertAll(from.getArgumentTypes()), convertAll(from.getResultTypes()));
    auto to = func::FuncOp::create(builder, from.getLoc(), from.getName(), type);
    Block* entry = to.addEntryBlock();
    const DotProducts dots{byteDots, bf16Dots};
    Arguments arguments(to);
    FunctionLowering lowering(builder, arguments, device, dots);
    for (unsigned i = 0; i < from.getNumArguments(); ++i) {
      SmallVector<NamedAttribute> attributes;
      if (DictionaryAttr given = from.getArgAttrDict(i)) llvm::append_range(attributes, given);
      attributes.push_back(ir::InputAttr::named(builder.getI64IntegerAttr(i)));
      if (auto shape = dyn_cast_or_null<AffineMapAttr>(
              cast<RankedTensorType>(from.getArgumentTypes()[i]).getEncoding()))
        attributes.push_back(ir::ShapeAttr::named(shape));
      arguments.describe(attributes);
      lowering.lowering().map(from.getArgument(i), entry->getArgument(i));
    }
    addSymbols(from, to, arguments, lowering.lowering());
    builder.setInsertionPointToStart(entry);
    if (failed(lowering.block(from.front()))) return signalPassFailure();
    auto terminator = from.front().getTerminator();
    SmallVector<Value> results, extents;
    SmallVector<DictionaryAttr> attributes;
    bool symbolic = false;
    for (Value value : terminator->getOperands()) {
      auto given = cast<RankedTensorType>(value.getType());
      results.push_back(lowering.lowering().values().lookup(value));
      NamedAttrList named;
      if (auto shape = dyn_cast_or_null<AffineMapAttr>(given.getEncoding())) ir::ShapeAttr::set(named, shape);
      attributes.push_back(named.getDictionary(&getContext()));
      symbolic |= !given.hasStaticShape();
    }
    // A program of symbolic shape returns the dimensions of its results too.
    if (symbolic)
      for (Value value : terminator->getOperands())
        for (const OpFoldResult size :
             lowering.lowering().sizes(ir::shapeOf(cast<RankedTensorType>(value.getType()))))
          extents.push_back(getValueOrCreateConstantIndexOp(builder, terminator->getLoc(), size));
    SmallVector<Type> types(to.getResultTypes());
    types.append(extents.size(), builder.getIndexType());
    attributes.resize(types.size(), builder.getDictionaryAttr({}));
    results.append(extents);
    func::ReturnOp::create(builder, terminator->getLoc(), results);
    arguments.finish(types);
    to.setAllResultAttrs(attributes);
    if (device || dots.any()) dropUnusedWeights(to);
    from.erase();
  }
};

}  // namespace

}  // namespace kiln::schedule
