#include "compiler_core/codegen/lower/buffers.h"
#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/runtime/program_abi.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/RegionUtils.h"

namespace kiln::codegen {
namespace {

using namespace mlir;

// C identifiers for perf and gdb: "conv1/Conv" becomes conv1_Conv.
std::string symbolFor(DictionaryAttr kernel, const Unit& unit, unsigned index) {
  std::string name = "kiln_" + (unit.profile ? "p" + std::to_string(unit.profile) + "_" : "") +
                     (unit.partition ? "s" + std::to_string(*unit.partition) + "_" : "") + "k" +
                     std::to_string(index);
  if (auto nodes = kernel ? kernel.getAs<ArrayAttr>("nodes") : ArrayAttr())
    for (Attribute node : nodes) {
      if (name.size() > 80) break;
      name += '_';
      for (char c : cast<StringAttr>(node).getValue().take_front(48)) name += llvm::isAlnum(c) ? c : '_';
    }
  return name;
}

struct OutlineKernelsPass : PassWrapper<OutlineKernelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OutlineKernelsPass)
  explicit OutlineKernelsPass(Unit unit = {}) : unit(unit) {}
  StringRef getArgument() const final { return "kiln-outline-kernels"; }
  StringRef getDescription() const final {
    return "Parallel loops become kernels, @main becomes @kiln_run_0";
  }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<LLVM::LLVMDialect, affine::AffineDialect, func::FuncDialect, arith::ArithDialect>();
  }

  // What a kernel uses from outside: repeated in the kernel where that has no effect, else (numbers only)
  // handed over in the environment, behind its pointers.
  struct Environment {
    Value pointer;             // in the kernel
    SmallVector<Value> extra;  // values of @main
    SmallVector<Value> parts;  // of buffers, whose users get new types
  };
  Value handOver(OpBuilder& builder, Value value, Environment& environment) {
    const Location loc = value.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    const auto slotNumber = static_cast<std::int32_t>(kEnvironment + environment.extra.size());
    environment.extra.push_back(value);
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, environment.pointer,
                                     ArrayRef<LLVM::GEPArg>{slotNumber});
    if (!value.getType().isIndex()) return LLVM::LoadOp::create(builder, loc, value.getType(), slot);
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      LLVM::LoadOp::create(builder, loc, builder.getI64Type(), slot));
  }

  // A part of a buffer whose elements lie side by side is a buffer of its own at another address: its type no
  // longer says where it lies and what is beside it, so that kernels that write to such parts are alike.
  static Value partOf(OpBuilder& builder, Operation* op, func::FuncOp main, Buffers& buffers) {
    auto view = dyn_cast_or_null<memref::SubViewOp>(op);
    if (!view) return {};
    const MemRefType type = view.getType();
    SmallVector<std::int64_t> strides;
    std::int64_t begin = 0, dense = 1;
    if (!type.hasStaticShape() || failed(type.getStridesAndOffset(strides, begin)) ||
        ShapedType::isDynamic(begin) ||
        !cast<MemRefType>(view.getSource().getType()).getLayout().isIdentity())
      return {};
    for (auto [size, stride] : llvm::reverse(llvm::zip_equal(type.getShape(), strides))) {
      if (size != 1 && stride != dense) return {};
      dense *= size;
    }
    if (!areRetyped(view)) return {};
    const auto whole = MemRefType::get(type.getShape(), type.getElementType());
    begin *= static_cast<std::int64_t>((type.getElementTypeBitWidth() + 7) / 8);
    if (auto argument = dyn_cast<BlockArgument>(view.getSource());
        argument && argument.getOwner() == &main.front())
      return buffers.piece(builder, view.getLoc(), argument.getArgNumber(), whole, begin);
    auto alloc = view.getSource().getDefiningOp<memref::AllocOp>();
    auto offset = alloc ? alloc->getAttrOfType<IntegerAttr>("kiln.offset") : IntegerAttr();
    if (!offset) return {};
    return buffers.planned(builder, view.getLoc(), whole, {}, /*inScratch=*/false, offset.getInt() + begin);
  }
  // Whether all that uses a view takes another layout, and retype() can say which.
  static bool areRetyped(Value view) {
    return llvm::all_of(view.getUsers(), [](Operation* user) {
      if (auto inner = dyn_cast<memref::SubViewOp>(user)) return areRetyped(inner);
      return isa<memref::LoadOp, memref::StoreOp, vector::LoadOp, vector::StoreOp>(user);
    });
  }
  static void retype(Value view) {
    for (Operation* user : view.getUsers()) {
      auto inner = dyn_cast<memref::SubViewOp>(user);
      if (!inner) continue;
      inner.getResult().setType(memref::SubViewOp::inferRankReducedResultType(
          inner.getType().getShape(), cast<MemRefType>(view.getType()), inner.getMixedOffsets(),
          inner.getMixedSizes(), inner.getMixedStrides()));
      retype(inner);
    }
  }

  FailureOr<Value> rematerialise(OpBuilder& builder, Value value, func::FuncOp main, Buffers& buffers,
                                 IRMapping& map, Environment& environment) {
    if (map.contains(value)) return map.lookup(value);
    const Location loc = value.getLoc();
    Value copy;
    Operation* op = value.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == &main.front()) {
      copy = buffers.argument(builder, loc, argument.getArgNumber());
      if (!copy) return main.emitError("an argument is neither input, weight, output nor symbol");
    } else if (auto alloc = dyn_cast_or_null<memref::AllocOp>(op)) {
      auto offset = alloc->getAttrOfType<IntegerAttr>("kiln.offset");
      if (!offset) return alloc.emitError("not planned: run kiln-plan-memory first");
      SmallVector<Value> sizes;
      for (Value size : alloc.getDynamicSizes()) {
        const auto made = rematerialise(builder, size, main, buffers, map, environment);
        if (failed(made)) return failure();
        sizes.push_back(*made);
      }
      copy = buffers.planned(builder, loc, alloc.getType(), sizes, /*inScratch=*/false, offset.getInt());
    } else if (Value part = partOf(builder, op, main, buffers)) {
      copy = part;
      environment.parts.push_back(part);
    } else if (op && isMemoryEffectFree(op) && op->getNumRegions() == 0) {
      for (Value operand : op->getOperands())
        if (failed(rematerialise(builder, operand, main, buffers, map, environment))) return failure();
      builder.clone(*op, map);
      return map.lookup(value);
    } else if (value.getType().isIntOrIndexOrFloat()) {
      copy = handOver(builder, value, environment);
    } else {
      return emitError(loc, "a kernel uses a value that cannot be computed again");
    }
    map.map(value, copy);
    return copy;
  }

  // Allocations of the task itself lie in its slot's scratch.
  void placeScratch(Region& body, Buffers& buffers) {
    SmallVector<memref::AllocOp> allocs;
    body.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    for (memref::AllocOp alloc : allocs) {
      OpBuilder builder(alloc);
      const auto offset = alloc->getAttrOfType<IntegerAttr>("kiln.offset").getInt();
      alloc.replaceAllUsesWith(buffers.planned(builder, alloc.getLoc(), alloc.getType(),
                                               alloc.getDynamicSizes(), /*inScratch=*/true, offset));
      alloc->erase();
    }
  }

  // How often a loop runs along each of its dimensions.
  SmallVector<OpFoldResult> countsOf(OpBuilder& b, scf::ForallOp loop, ArrayRef<OpFoldResult> from,
                                     ArrayRef<OpFoldResult> to) {
    const AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    SmallVector<OpFoldResult> counts;
    for (auto [low, high, step] : llvm::zip_equal(from, to, *getConstantIntValues(loop.getMixedStep())))
      counts.push_back(
          affine::makeComposedFoldedAffineApply(b, loop.getLoc(), (d1 - d0).ceilDiv(step), {low, high}));
    return counts;
  }

  // Loop indices of `task`, the row-major number of an iteration.
  SmallVector<Value> indices(OpBuilder& b, Location loc, Value task, ArrayRef<OpFoldResult> counts,
                             ArrayRef<OpFoldResult> from, ArrayRef<std::int64_t> steps) {
    auto value = [&](OpFoldResult number) { return getValueOrCreateConstantIndexOp(b, loc, number); };
    SmallVector<Value> result(counts.size());
    for (std::size_t i = counts.size(); i-- > 0;) {
      Value digit = i == 0 ? task : arith::RemUIOp::create(b, loc, task, value(counts[i])).getResult();
      if (i > 0) task = arith::DivUIOp::create(b, loc, task, value(counts[i]));
      result[i] = arith::AddIOp::create(
          b, loc, arith::MulIOp::create(b, loc, digit, value(b.getIndexAttr(steps[i]))), value(from[i]));
    }
    return result;
  }

  LogicalResult outline(scf::ForallOp loop, func::FuncOp main, Value environment, unsigned index) {
    MLIRContext* context = &getContext();
    const Location loc = loop.getLoc();
    if (loop.getNumResults() != 0) return loop.emitError("expected a loop on buffers");
    const auto steps = getConstantIntValues(loop.getMixedStep());
    if (!steps) return loop.emitError("expected constant steps");
    OpBuilder b(loop);
    OpFoldResult tasks = b.getIndexAttr(1);
    const AffineExpr d0 = b.getAffineDimExpr(0), s0 = b.getAffineSymbolExpr(0);
    for (const OpFoldResult count : countsOf(b, loop, loop.getMixedLowerBound(), loop.getMixedUpperBound()))
      tasks = affine::makeComposedFoldedAffineApply(b, loc, d0 * s0, {tasks, count});

    auto kernelInfo = loop->getAttrOfType<DictionaryAttr>(schedule::kKernelAttr);
    auto pointer = LLVM::LLVMPointerType::get(context);
    OpBuilder top(main);
    const auto type = top.getFunctionType({pointer, top.getI64Type(), pointer}, {});
    auto kernel = func::FuncOp::create(top, loc, symbolFor(kernelInfo, unit, index), type);
    kernel.setPrivate();
    if (kernelInfo) {
      NamedAttrList attributes(kernelInfo);
      if (auto number = getConstantIntValue(tasks)) attributes.set("tasks", top.getI64IntegerAttr(*number));
      kernel->setAttr(schedule::kKernelAttr, attributes.getDictionary(context));
    }
    Block* entry = kernel.addEntryBlock();
    b.setInsertionPointToStart(entry);
    std::array<Value, kPointers> pointers{};
    for (unsigned i = 0; i < kEnvironment; ++i) {
      Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, entry->getArgument(0),
                                       ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(i)});
      pointers[kArena + i] = LLVM::LoadOp::create(b, loc, pointer, slot);
    }
    Buffers buffers(main, pointers, entry->getArgument(2));
    IRMapping map;
    Environment own{entry->getArgument(0), {}, {}};
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(loop.getRegion(), captured);
    captured.insert_range(loop.getDynamicLowerBound());
    captured.insert_range(loop.getDynamicUpperBound());
    for (Value value : captured)
      if (failed(rematerialise(b, value, main, buffers, map, own))) return failure();
    auto here = [&](SmallVector<OpFoldResult> bounds) {
      for (OpFoldResult& bound : bounds)
        if (auto value = dyn_cast<Value>(bound)) bound = map.lookup(value);
      return bounds;
    };
    const auto from = here(loop.getMixedLowerBound()), to = here(loop.getMixedUpperBound());
    Value task = arith::IndexCastOp::create(b, loc, b.getIndexType(), entry->getArgument(1));
    map.map(loop.getInductionVars(), indices(b, loc, task, countsOf(b, loop, from, to), from, *steps));
    for (Operation& op : loop.getBody()->without_terminator()) b.clone(op, map);
    for (Value part : own.parts) retype(part);
    func::ReturnOp::create(b, loc);
    placeScratch(kernel.getBody(), buffers);
    if (!own.extra.empty()) environment = extended(b, loop, main, own.extra);

    // callbacks->parallel_for(callbacks->user, kernel, environment, tasks)
    b.setInsertionPoint(loop);
    Value callbacks = main.getArgument(kCallbacks);
    Value target = func::ConstantOp::create(b, loc, type, FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
    target = UnrealizedConversionCastOp::create(b, loc, pointer, target).getResult(0);
    Value parallelFor = LLVM::LoadOp::create(b, loc, pointer, callbacks);
    Value userSlot = LLVM::GEPOp::create(b, loc, pointer, pointer, callbacks, ArrayRef<LLVM::GEPArg>{1});
    Value user = LLVM::LoadOp::create(b, loc, pointer, userSlot);
    Value count;
    if (auto number = getConstantIntValue(tasks))
      count = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(*number));
    else
      count = arith::IndexCastOp::create(b, loc, b.getI64Type(), cast<Value>(tasks));
    auto signature = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                                 {pointer, pointer, pointer, b.getI64Type()});
    LLVM::CallOp::create(b, loc, signature, ValueRange{parallelFor, user, target, environment, count});
    loop.erase();
    return success();
  }

  // The environment of one loop whose kernel needs more than the run's pointers.
  Value extended(OpBuilder& b, scf::ForallOp loop, func::FuncOp main, ArrayRef<Value> extra) {
    const Location loc = loop.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    b.setInsertionPointToStart(&main.front());
    Value one = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(1));
    auto type = LLVM::LLVMArrayType::get(pointer, kEnvironment + extra.size());
    Value environment = LLVM::AllocaOp::create(b, loc, pointer, type, one);
    b.setInsertionPoint(loop);
    auto slot = [&](std::size_t i) {
      return LLVM::GEPOp::create(b, loc, pointer, pointer, environment,
                                 ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(i)});
    };
    for (unsigned i = 0; i < kEnvironment; ++i)
      LLVM::StoreOp::create(b, loc, main.getArgument(kArena + i), slot(i));
    for (auto [i, value] : llvm::enumerate(extra)) {
      Value stored = value;
      if (value.getType().isIndex()) stored = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
      LLVM::StoreOp::create(b, loc, stored, slot(kEnvironment + i));
    }
    return environment;
  }

  // The unit's kiln_shapes: @kiln_shapes_<unit>, which stores the dimensions of the outputs.
  func::FuncOp addShapes(func::FuncOp main) {
    const Location loc = main.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    OpBuilder b(main);
    auto shapes =
        func::FuncOp::create(b, loc, "kiln_shapes_" + unit.text(), b.getFunctionType({pointer, pointer}, {}));
    // In output order, which the arguments need not have.
    SmallVector<ir::Shape> outputs;
    for (BlockArgument argument : main.getArguments())
      if (auto index = main.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "kiln.output")) {
        outputs.resize(std::max<std::size_t>(outputs.size(), index.getInt() + 1));
        ir::Shape& shape = outputs[index.getInt()];
        shape = ir::toShape(cast<MemRefType>(argument.getType()).getShape());
        if (auto map = main.getArgAttrOfType<AffineMapAttr>(argument.getArgNumber(), "kiln.shape"))
          for (auto [dim, expression] : llvm::zip_equal(shape, map.getValue().getResults()))
            dim = ir::Dim(expression);
      }
    Block* entry = shapes.addEntryBlock();
    b.setInsertionPointToStart(entry);
    std::int32_t at = 0;
    for (const ir::Shape& output : outputs)
      for (const ir::Dim& dim : output) {
        Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), entry->getArgument(1),
                                         ArrayRef<LLVM::GEPArg>{at++});
        LLVM::StoreOp::create(b, loc, extentValue(b, loc, dim, main, entry->getArgument(0)), slot);
      }
    func::ReturnOp::create(b, loc);
    return shapes;
  }

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>(ir::kMain);
    if (!main) {
      getOperation().emitError("expected a function @main");
      return signalPassFailure();
    }
    if (failed(makeEntry(main))) return signalPassFailure();
  }

  // The function of a unit becomes @kiln_run_<unit>.
  LogicalResult makeEntry(func::FuncOp old) {
    MLIRContext* context = &getContext();
    const Location loc = old.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(context);
    func::FuncOp shapes = addShapes(old);
    OpBuilder b(old);

    // A new function with the ABI's arguments in front; the buffers follow until everything is replaced.
    Block& entry = old.front();
    for (unsigned i = 0; i < kPointers; ++i)
      if (failed(old.insertArgument(i, pointer, {}, loc))) return failure();
    std::array<Value, kPointers> pointers{};
    for (unsigned i = 0; i < kPointers; ++i) pointers[i] = old.getArgument(i);
    Buffers buffers(old, pointers, Value());

    b.setInsertionPointToStart(&entry);
    Value one = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(1));
    auto environmentType = LLVM::LLVMArrayType::get(pointer, kEnvironment);
    Value environment = LLVM::AllocaOp::create(b, loc, pointer, environmentType, one);
    for (unsigned i = 0; i < kEnvironment; ++i) {
      Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, environment,
                                       ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(i)});
      LLVM::StoreOp::create(b, loc, pointers[kArena + i], slot);
    }
    Operation* top = &*std::prev(b.getInsertionPoint());  // outlining erases what follows

    SmallVector<scf::ForallOp> loops;
    old.walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
      loops.push_back(loop);
      return WalkResult::skip();
    });
    for (auto [index, loop] : llvm::enumerate(loops))
      if (failed(outline(loop, old, environment, index))) return failure();

    // What the calling thread does itself uses the same buffers.
    b.setInsertionPointAfter(top);
    for (BlockArgument argument : llvm::drop_begin(old.getArguments(), kPointers)) {
      if (argument.use_empty()) continue;
      Value made = buffers.argument(b, loc, argument.getArgNumber());
      if (!made) return old.emitError("an argument is neither input, weight, output nor symbol");
      argument.replaceAllUsesWith(made);
    }
    SmallVector<memref::AllocOp> allocs;
    old.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    for (memref::AllocOp alloc : allocs) {
      auto offset = alloc->getAttrOfType<IntegerAttr>("kiln.offset");
      if (!offset) return alloc.emitError("not planned: run kiln-plan-memory first");
      OpBuilder at(alloc);
      alloc.replaceAllUsesWith(buffers.planned(at, alloc.getLoc(), alloc.getType(), alloc.getDynamicSizes(),
                                               /*inScratch=*/false, offset.getInt()));
      alloc->erase();
    }

    llvm::BitVector drop(old.getNumArguments(), false);
    drop.set(kPointers, old.getNumArguments());
    if (failed(old.eraseArguments(drop))) return failure();
    old.setType(b.getFunctionType(old.getArgumentTypes(), b.getI32Type()));
    auto terminator = cast<func::ReturnOp>(entry.getTerminator());
    b.setInsertionPoint(terminator);
    // A program of symbolic shape knows its results' dimensions itself.
    if (terminator.getNumOperands() == 0)
      func::CallOp::create(b, loc, shapes, ValueRange{pointers[kSymbols], pointers[kOutputDims]});
    for (auto [i, size] : llvm::enumerate(terminator.getOperands())) {
      Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), pointers[kOutputDims],
                                       ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(i)});
      LLVM::StoreOp::create(b, loc, arith::IndexCastOp::create(b, loc, b.getI64Type(), size), slot);
    }
    Value ok = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(KILN_RUN_OK));
    func::ReturnOp::create(b, loc, ok);
    terminator.erase();
    old.setName("kiln_run_" + unit.text());
    return success();
  }

  Unit unit;
};

}  // namespace

std::unique_ptr<Pass> createOutlineKernelsPass(Unit unit) {
  return std::make_unique<OutlineKernelsPass>(unit);
}

}  // namespace kiln::codegen
