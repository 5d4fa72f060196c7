#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/memory/control_flow.h"
#include "compiler_core/memory/library_call.h"
#include "compiler_core/memory/passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/CSE.h"

namespace kiln::memory {

#define GEN_PASS_DEF_BUFFERIZEPASS
#include "compiler_core/memory/passes.h.inc"

namespace {

using namespace mlir;

// The buffer of a result, made where its sizes are known. A caller's buffer whose sizes
// the program finds out has room for the largest ones, and the result lies dense at its beginning.
Value resultBuffer(OpBuilder& builder, BlockArgument out, ArrayRef<OpFoldResult> sizes) {
  auto type = cast<MemRefType>(out.getType());
  if (type.hasStaticShape()) return out;
  const Location loc = out.getLoc();
  Operation* last = nullptr;
  for (const OpFoldResult size : sizes)
    if (auto value = dyn_cast<Value>(size))
      if (Operation* op = value.getDefiningOp(); op && (!last || last->isBeforeInBlock(op))) last = op;
  OpBuilder::InsertionGuard guard(builder);
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(out.getOwner());
  SmallVector<OpFoldResult> strides(sizes.size());
  OpFoldResult stride = builder.getIndexAttr(1);
  const AffineExpr d0 = builder.getAffineDimExpr(0), s0 = builder.getAffineSymbolExpr(0);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0) stride = affine::makeComposedFoldedAffineApply(builder, loc, d0 * s0, {stride, sizes[i]});
  }
  auto dynamic = MemRefType::get(type.getShape(), type.getElementType());
  Value view =
      memref::ReinterpretCastOp::create(builder, loc, dynamic, out, builder.getIndexAttr(0), sizes, strides);
  return view;
}

// Where the buffer of a value begins: behind what is written into it.
struct Beginning {
  Value start;
  SmallVector<Operation*> reshapes;  // between the value and `start`, those next to the value first
  Value called;                      // what a function of the kernel library makes in it; null: none does
};

Beginning beginningOf(Value value) {
  Beginning found{value, {}};
  for (;;) {
    Operation* op = found.start.getDefiningOp();
    if (auto insert = dyn_cast_or_null<tensor::InsertSliceOp>(op)) {
      found.start = insert.getDest();
    } else if (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
      found.reshapes.push_back(op);
      found.start = op->getOperand(0);
    } else if (auto call = dyn_cast_or_null<ir::CallOp>(op); call && !found.called) {
      found.called = found.start;
      found.start = call.getInits()[cast<OpResult>(found.start).getResultNumber()];
    } else if (auto loop = dyn_cast_or_null<scf::ForallOp>(op);
               loop && found.called && found.start.hasOneUse()) {
      found.start = loop.getTiedOpOperand(cast<OpResult>(found.start))->get();
    } else {
      return found;
    }
  }
}

// Whether nothing writes over the value: otherwise two would share the buffer of a result.
bool isOnlyRead(Value value) {
  SmallVector<Value> open = {value};
  while (!open.empty())
    for (OpOperand& use : open.pop_back_val().getUses()) {
      Operation* op = use.getOwner();
      auto styled = dyn_cast<DestinationStyleOpInterface>(op);
      if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::ExtractSliceOp>(op))
        open.push_back(op->getResult(0));
      else if (!isa<func::ReturnOp, bufferization::MaterializeInDestinationOp, tensor::DimOp>(op) &&
               !(styled && styled.isDpsInput(&use)))
        return false;
    }
  return true;
}

// A result that is put together piece by piece, or by the kernel library, is put together where it is wanted.
void beginIn(OpBuilder& builder, Value value, Value buffer) {
  const Beginning beginning = beginningOf(value);
  Value start = beginning.start;
  auto nothing = start.getDefiningOp<tensor::EmptyOp>();
  if (!nothing || start == value || !nothing->hasOneUse() || !isa<BlockArgument>(buffer) ||
      (beginning.called ? !isOnlyRead(beginning.called) : !beginning.reshapes.empty()))
    return;
  // What was joined for the library is taken apart again by a view, whose sizes must be numbers.
  if (llvm::any_of(beginning.reshapes, [](Operation* op) { return isa<tensor::CollapseShapeOp>(op); }))
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(nothing);
  const Location loc = nothing.getLoc();
  Value place = bufferization::ToTensorOp::create(builder, loc, value.getType(), buffer, /*restrict=*/true,
                                                  /*writable=*/true);
  for (Operation* op : beginning.reshapes) {
    auto expand = cast<tensor::ExpandShapeOp>(op);
    place = tensor::CollapseShapeOp::create(builder, loc, expand.getSrcType(), place,
                                            expand.getReassociationIndices());
  }
  start.replaceAllUsesWith(place);
  nothing.erase();
}

// Arguments and results of @main become buffers given by the caller, who promises dense layout and no
// aliasing; indices stay what they are.
LogicalResult makeBoundary(func::FuncOp function) {
  Block& block = function.front();
  auto terminator = cast<func::ReturnOp>(block.getTerminator());
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  const Location loc = function.getLoc();
  auto bufferType = [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return MemRefType::get(tensor.getShape(), tensor.getElementType());
  };
  for (BlockArgument argument : block.getArguments()) {
    const Type type = argument.getType();
    if (!isa<RankedTensorType>(type)) continue;
    argument.setType(bufferType(type));
    auto tensor = bufferization::ToTensorOp::create(builder, loc, type, argument, /*restrict=*/true);
    argument.replaceAllUsesExcept(tensor, tensor);
  }
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  attributes.resize(block.getNumArguments(), builder.getDictionaryAttr({}));
  SmallVector<Value> results, extents;
  for (Value value : terminator.getOperands())
    (isa<RankedTensorType>(value.getType()) ? results : extents).push_back(value);
  ArrayRef<Value> sizes = extents;
  for (auto [index, value] : llvm::enumerate(results)) {
    const MemRefType type = bufferType(value.getType());
    BlockArgument out = block.addArgument(type, loc);
    SmallVector<OpFoldResult> own;
    if (!sizes.empty()) {
      own = getAsOpFoldResult(ValueRange(sizes.take_front(type.getRank())));
      sizes = sizes.drop_front(type.getRank());
    }
    // Constants count as numbers, as the type has them.
    for (auto [size, fixed] : llvm::zip(own, type.getShape()))
      if (!ShapedType::isDynamic(fixed)) size = builder.getIndexAttr(fixed);
    Value buffer = resultBuffer(builder, out, own);
    beginIn(builder, value, buffer);
    builder.setInsertionPoint(terminator);
    bufferization::MaterializeInDestinationOp::create(builder, loc, Type(), value, buffer, /*restrict=*/true,
                                                      /*writable=*/true);
    NamedAttrList given(ir::OutputAttr::named(builder.getI64IntegerAttr(static_cast<std::int64_t>(index))));
    if (auto shape = ir::ShapeAttr::ofResult(function, static_cast<unsigned>(index)))
      ir::ShapeAttr::set(given, shape);
    attributes.push_back(given.getDictionary(builder.getContext()));
  }
  terminator->setOperands(extents);
  function.removeResAttrsAttr();
  function.setType(builder.getFunctionType(block.getArgumentTypes(), ValueRange(extents).getTypes()));
  function.setAllArgAttrs(attributes);
  return success();
}

// CSE makes one tensor.empty of all that are equal. As long as they are one, every buffer made from it may
// alias every other, and the analysis compares all with all.
void giveEachUserItsOwnEmptyTensor(ModuleOp module) {
  SmallVector<tensor::EmptyOp> empties;
  module.walk([&](tensor::EmptyOp op) { empties.push_back(op); });
  for (tensor::EmptyOp op : empties)
    for (OpOperand& use : llvm::make_early_inc_range(llvm::drop_begin(op->getUses())))
      use.set(OpBuilder(use.getOwner()).clone(*op)->getResult(0));
}

// The buffer whose elements `value` shows in their order: behind changes of shape.
Value withoutReshapes(Value value) {
  while (Operation* op = value.getDefiningOp()) {
    if (!isa<memref::CollapseShapeOp, memref::ExpandShapeOp, memref::CastOp>(op)) break;
    value = op->getOperand(0);
  }
  return value;
}

// A dimension taken apart into several of symbolic size: upstream's lowering of memref.expand_shape knows one
// such size per group, a cast with sizes and strides any number.
void castExpandedViews(ModuleOp module) {
  SmallVector<memref::ExpandShapeOp> views;
  module.walk([&](memref::ExpandShapeOp view) {
    for (const ReassociationIndices& group : view.getReassociationIndices())
      if (llvm::count_if(group, [&](std::int64_t dim) { return view.getResultType().isDynamicDim(dim); }) > 1)
        return views.push_back(view);
  });
  for (memref::ExpandShapeOp view : views) {
    OpBuilder b(view);
    const Location loc = view.getLoc();
    const MemRefType type = view.getResultType();
    SmallVector<std::int64_t> fixed;
    std::int64_t fixedOffset = 0;
    if (failed(type.getStridesAndOffset(fixed, fixedOffset))) continue;  // left to upstream
    auto source = memref::ExtractStridedMetadataOp::create(b, loc, view.getSrc());
    const SmallVector<OpFoldResult> sizes = view.getMixedOutputShape(),
                                    outer = source.getConstifiedMixedStrides();
    SmallVector<OpFoldResult> strides(sizes.size());
    const AffineExpr d0 = b.getAffineDimExpr(0), s0 = b.getAffineSymbolExpr(0);
    for (auto [group, stride] : llvm::zip_equal(view.getReassociationIndices(), outer)) {
      OpFoldResult next = stride;
      for (const std::int64_t dim : llvm::reverse(group)) {
        strides[dim] = ShapedType::isDynamic(fixed[dim]) ? next : OpFoldResult(b.getIndexAttr(fixed[dim]));
        next = affine::makeComposedFoldedAffineApply(b, loc, d0 * s0, {next, sizes[dim]});
      }
    }
    const OpFoldResult offset = ShapedType::isDynamic(fixedOffset)
                                    ? source.getConstifiedMixedOffset()
                                    : OpFoldResult(b.getIndexAttr(fixedOffset));
    view.replaceAllUsesWith(
        memref::ReinterpretCastOp::create(b, loc, type, view.getSrc(), offset, sizes, strides).getResult());
    view.erase();
  }
}

// A value that was computed in place still is copied to where it already is.
void eraseSelfCopies(ModuleOp module, IRRewriter& rewriter) {
  DominanceInfo dominance(module);
  eliminateCommonSubExpressions(rewriter, dominance, module);  // equal views become one value
  SmallVector<linalg::GenericOp> copies;
  module.walk([&](linalg::GenericOp op) {
    if (op.getNumDpsInputs() == 1 && op.getNumDpsInits() == 1 &&
        withoutReshapes(op.getInputs()[0]) == withoutReshapes(op.getOutputs()[0]) &&
        op.getInputs()[0].getType() == op.getOutputs()[0].getType() &&
        op.getBody()->without_terminator().empty() &&
        op.getIndexingMapsArray()[0] == op.getIndexingMapsArray()[1] &&
        op.getBody()->getTerminator()->getOperand(0) == op.getBody()->getArgument(0))
      copies.push_back(op);
  });
  for (linalg::GenericOp op : copies) rewriter.eraseOp(op);
}

struct BufferizePass : impl::BufferizePassBase<BufferizePass> {
  void getDependentDialects(DialectRegistry& registry) const override {
    Base::getDependentDialects(registry);
    arith::registerBufferizableOpInterfaceExternalModels(registry);
    linalg::registerBufferizableOpInterfaceExternalModels(registry);
    linalg::registerSubsetOpInterfaceExternalModels(registry);
    registerLibraryCallBufferization(registry);
    scf::registerBufferizableOpInterfaceExternalModels(registry);
    tensor::registerBufferizableOpInterfaceExternalModels(registry);
    tensor::registerSubsetOpInterfaceExternalModels(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && failed(makeBoundary(function))) return signalPassFailure();
    giveEachUserItsOwnEmptyTensor(module);
    prepareControlFlow(module);
    IRRewriter rewriter(&getContext());
    if (failed(bufferization::eliminateEmptyTensors(rewriter, module))) return signalPassFailure();
    bufferization::OneShotBufferizationOptions options;
    options.bufferAlignment = 64;
    options.unknownTypeConverterFn = [](TensorType type, Attribute space,
                                        const bufferization::BufferizationOptions&) {
      return bufferization::getMemRefTypeWithStaticIdentityLayout(type, space);
    };
    // Copies are ordinary elementwise kernels, so that the vectoriser sees them.
    options.memCpyFn = [](OpBuilder& builder, Location loc, Value from, Value to) -> LogicalResult {
      linalg::makeMemRefCopyOp(builder, loc, from, to);
      return success();
    };
    bufferization::BufferizationState state;
    if (failed(bufferization::runOneShotBufferize(module, options, state))) return signalPassFailure();
    if (failed(resolveControlFlow(module))) return signalPassFailure();
    castExpandedViews(module);
    eraseSelfCopies(module, rewriter);
  }
};

}  // namespace

}  // namespace kiln::memory
