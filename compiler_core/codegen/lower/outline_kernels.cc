#include "compiler_core/codegen/lower/buffers.h"
#include "compiler_core/codegen/lower/dense_part.h"
#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/codegen/lower/run_function.h"
#include "compiler_core/codegen/lower/task_grid.h"
#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/memory/footprint.h"
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

#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "compiler_core/codegen/lower/passes.h.inc"

namespace {

using namespace mlir;

struct OutlineKernelsPass : impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  explicit OutlineKernelsPass(Unit unit = {}) : unit(unit) {}

  // What a kernel uses from outside: repeated in the kernel where that has no effect, else (numbers only)
  // handed over in the environment, behind its pointers.
  struct Environment {
    Value pointer;             // in the kernel
    SmallVector<Value> extra;  // values of @main
    SmallVector<Value> parts;  // of buffers, whose users get new types
  };
  // Where number `index` stands: each takes eight bytes, whatever a pointer takes.
  static Value numberSlot(OpBuilder& builder, Location loc, Value environment, std::int32_t index) {
    auto type = environmentType(builder.getContext(), 1);
    return LLVM::GEPOp::create(builder, loc, environment.getType(), type, environment,
                               ArrayRef<LLVM::GEPArg>{0, 1, index});
  }
  static LLVM::LLVMStructType environmentType(MLIRContext* context, std::size_t numbers) {
    auto pointers = LLVM::LLVMArrayType::get(LLVM::LLVMPointerType::get(context), kEnvironment);
    auto behind = LLVM::LLVMArrayType::get(IntegerType::get(context, 64), numbers);
    return LLVM::LLVMStructType::getLiteral(context, {pointers, behind});
  }
  Value handOver(OpBuilder& builder, Value value, Environment& environment) {
    const Location loc = value.getLoc();
    const auto number = static_cast<std::int32_t>(environment.extra.size());
    environment.extra.push_back(value);
    Value slot = numberSlot(builder, loc, environment.pointer, number);
    if (!value.getType().isIndex()) return LLVM::LoadOp::create(builder, loc, value.getType(), slot);
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      LLVM::LoadOp::create(builder, loc, builder.getI64Type(), slot));
  }

  static Value partOf(OpBuilder& builder, Operation* op, func::FuncOp main, Buffers& buffers) {
    const auto part = densePartOf(op);
    if (!part) return {};
    if (auto argument = dyn_cast<BlockArgument>(part->source);
        argument && argument.getOwner() == &main.front())
      return buffers.piece(builder, op->getLoc(), argument.getArgNumber(), part->type, part->bytes);
    auto alloc = part->source.getDefiningOp<memref::AllocOp>();
    auto offset = alloc ? ir::OffsetAttr::get(alloc) : IntegerAttr();
    if (!offset) return {};
    return buffers.planned(builder, op->getLoc(), part->type, {}, /*inScratch=*/false,
                           offset.getInt() + part->bytes);
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
      auto offset = ir::OffsetAttr::get(alloc);
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
  LogicalResult placeScratch(Region& body, Buffers& buffers) {
    SmallVector<memref::AllocOp> allocs;
    body.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    for (memref::AllocOp alloc : allocs) {
      OpBuilder builder(alloc);
      const auto offset = ir::OffsetAttr::require(alloc);
      if (failed(offset)) return failure();
      alloc.replaceAllUsesWith(buffers.planned(builder, alloc.getLoc(), alloc.getType(),
                                               alloc.getDynamicSizes(), /*inScratch=*/true,
                                               offset->getInt()));
      alloc->erase();
    }
    return success();
  }

  LogicalResult outline(scf::ForallOp loop, func::FuncOp main, Value environment, unsigned index) {
    MLIRContext* context = &getContext();
    const Location loc = loop.getLoc();
    if (loop.getNumResults() != 0) return loop.emitError("expected a loop on buffers");
    const auto steps = getConstantIntValues(loop.getMixedStep());
    if (!steps) return loop.emitError("expected constant steps");
    OpBuilder b(loop);
    const OpFoldResult tasks = tasksOf(b, loop);

    auto kernelInfo = ir::KernelAttr::get(loop);
    const auto moved = static_cast<std::int64_t>(memory::movedBytes(loop, ir::limitsOf(main)));
    auto pointer = LLVM::LLVMPointerType::get(context);
    OpBuilder top(main);
    const auto type = top.getFunctionType({pointer, top.getI64Type(), pointer}, {});
    auto kernel = func::FuncOp::create(top, loc, symbolFor(kernelInfo, unit, index), type);
    kernel.setPrivate();
    if (kernelInfo) {
      NamedAttrList attributes(kernelInfo);
      ir::kernel::kMovedBytes.set(attributes, top.getI64IntegerAttr(moved));
      if (auto number = getConstantIntValue(tasks))
        ir::kernel::kTasks.set(attributes, top.getI64IntegerAttr(*number));
      ir::KernelAttr::set(kernel, attributes.getDictionary(context));
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
    map.map(loop.getInductionVars(), indicesOf(b, loc, task, countsOf(b, loop, from, to), from, *steps));
    for (Operation& op : loop.getBody()->without_terminator()) b.clone(op, map);
    for (Value part : own.parts) retypeViews(part);
    func::ReturnOp::create(b, loc);
    if (failed(placeScratch(kernel.getBody(), buffers))) return failure();
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
    Value environment =
        LLVM::AllocaOp::create(b, loc, pointer, environmentType(b.getContext(), extra.size()), one);
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
      LLVM::StoreOp::create(b, loc, stored, numberSlot(b, loc, environment, static_cast<std::int32_t>(i)));
    }
    return environment;
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
    RunFunction run(old, unit);
    OpBuilder b = OpBuilder::atBlockBegin(&old.front());
    Value one = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(1));
    auto environmentType = LLVM::LLVMArrayType::get(pointer, kEnvironment);
    Value environment = LLVM::AllocaOp::create(b, loc, pointer, environmentType, one);
    for (unsigned i = 0; i < kEnvironment; ++i) {
      Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, environment,
                                       ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(i)});
      LLVM::StoreOp::create(b, loc, run.pointers()[kArena + i], slot);
    }
    Operation* top = &*std::prev(b.getInsertionPoint());  // outlining erases what follows
    for (auto [index, loop] : llvm::enumerate(parallelLoops(old)))
      if (failed(outline(loop, old, environment, index))) return failure();
    // What the calling thread does itself uses the same buffers.
    return run.finish(top);
  }

  Unit unit;
};

}  // namespace

std::unique_ptr<Pass> createOutlineKernelsPass(Unit unit) {
  return std::make_unique<OutlineKernelsPass>(unit);
}

}  // namespace kiln::codegen
