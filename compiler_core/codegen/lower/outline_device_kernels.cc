#include "compiler_core/codegen/lower/buffers.h"
#include "compiler_core/codegen/lower/dense_part.h"
#include "compiler_core/codegen/lower/device_kernels.h"
#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/codegen/lower/run_function.h"
#include "compiler_core/codegen/lower/task_grid.h"
#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/memory/footprint.h"
#include "compiler_core/runtime/program_abi.h"
#include "compiler_core/schedule/analysis/kernel_info.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/RegionUtils.h"

namespace kiln::codegen {

#define GEN_PASS_DEF_OUTLINEDEVICEKERNELSPASS
#include "compiler_core/codegen/lower/passes.h.inc"

namespace {

using namespace mlir;

constexpr std::int64_t kMaxBlocks = (std::int64_t{1} << 31) - 1;  // along x of a CUDA grid
constexpr std::int64_t kSharedAlignment = 128;
// Where the callbacks' fields stand, in pointers.
enum Callback : std::int32_t { kUser = 1, kLaunch = 2 };

std::array<std::uint8_t, 32> hashOf(StringRef text) {
  return llvm::BLAKE3::hash(llvm::arrayRefFromStringRef(text));
}

// The arguments of one kernel: what a loop uses from outside.
class Arguments {
 public:
  Arguments(func::FuncOp main, gpu::GPUModuleOp device)
      : main_(main), device_(device), options_(main.getContext()), converter_(main.getContext(), options_) {}

  // Stands in for `value` in the kernel, where `b` builds.
  FailureOr<Value> stand(OpBuilder& b, Value value) {
    if (map.contains(value)) return map.lookup(value);
    const Location loc = value.getLoc();
    Operation* op = value.getDefiningOp();
    Value copy;
    if (const auto part = densePartOf(op); part && isBuffer(part->source)) {
      copy = buffer(b, loc, part->type, part->source, part->bytes);
      parts.push_back(copy);
    } else if (isBuffer(value)) {
      copy = buffer(b, loc, cast<MemRefType>(value.getType()), value, 0);
    } else if (auto global = dyn_cast_or_null<memref::GetGlobalOp>(op)) {
      copy = constant(b, global);
    } else if (op && op->hasTrait<OpTrait::ConstantLike>()) {
      copy = b.clone(*op)->getResult(0);
    } else if (value.getType().isIndex()) {
      Value number = pass(b.getI64Type(), {value, Word::kIndex});
      copy = arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
    } else if (value.getType().isIntOrFloat() && value.getType().getIntOrFloatBitWidth() <= 64) {
      copy = pass(value.getType(), {value, Word::kNumber});
    } else if (op && isMemoryEffectFree(op) && op->getNumRegions() == 0) {
      for (Value operand : op->getOperands())
        if (failed(stand(b, operand))) return failure();
      b.clone(*op, map);
      return map.lookup(value);
    } else {
      return emitError(loc, "a kernel uses a value that its arguments cannot hold");
    }
    map.map(value, copy);
    return copy;
  }

  // Fills the words where the loop stands, for the launch.
  void store(OpBuilder& b, Location loc, Value words) {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    for (auto [i, word] : llvm::enumerate(words_)) {
      Value value = word.value;
      if (word.kind == Word::kPointer) value = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, value);
      if (word.kind == Word::kSize) value = memref::DimOp::create(b, loc, value, word.number);
      if (value.getType().isIndex()) value = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
      if (word.kind == Word::kPointer && word.number != 0)
        value = arith::AddIOp::create(b, loc, value, number(b, loc, word.number));
      Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), words,
                                       ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(i)});
      if (value.getType() != b.getI64Type()) LLVM::StoreOp::create(b, loc, number(b, loc, 0), slot);
      LLVM::StoreOp::create(b, loc, value, slot);
    }
  }

  // Says of pointers to buffers of which nothing else is handed over that nothing else points there: what
  // lies in one planned buffer lies in no other that is in use. Not of what one thread writes and another
  // reads behind a barrier: the promise would let loads move in front of it.
  void markAlone(gpu::GPUFuncOp kernel, scf::ForallOp loop) {
    llvm::SmallDenseMap<Value, unsigned> count;
    if (loop.walk([](gpu::BarrierOp) { return WalkResult::interrupt(); }).wasInterrupted())
      loop.walk([&](MemoryEffectOpInterface op) {
        SmallVector<MemoryEffects::EffectInstance> effects;
        op.getEffects(effects);
        for (const MemoryEffects::EffectInstance& effect : effects) {
          Value buffer = effect.getValue();
          if (!buffer || !isa<MemoryEffects::Write>(effect.getEffect())) continue;
          while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) buffer = view.getViewSource();
          ++count[buffer];
        }
      });
    for (const Word& word : words_)
      if (word.kind == Word::kPointer) ++count[word.value];
    for (auto [i, word] : llvm::enumerate(words_))
      if (word.kind == Word::kPointer && count[word.value] == 1)
        kernel.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), UnitAttr::get(kernel.getContext()));
  }

  SmallVector<Type> types;
  IRMapping map;
  SmallVector<Value> parts;  // whose users get new types
  Block* entry = nullptr;

  std::size_t size() const { return words_.size(); }

 private:
  struct Word {
    Value value;  // of @main
    enum Kind { kPointer, kSize, kIndex, kNumber } kind;
    std::int64_t number = 0;  // bytes behind the pointer, or the dimension
  };

  static Value number(OpBuilder& b, Location loc, std::int64_t value) {
    return LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  }

  // What has an address and is dense: an argument of @main or a planned buffer.
  bool isBuffer(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner() == &main_.front() && isa<MemRefType>(value.getType());
    return value.getDefiningOp<memref::AllocOp>() != nullptr;
  }

  Value pass(Type type, Word word) {
    words_.push_back(word);
    return entry->addArgument(type, word.value.getLoc());
  }

  Value buffer(OpBuilder& b, Location loc, MemRefType type, Value source, std::int64_t bytes) {
    Value pointer = pass(LLVM::LLVMPointerType::get(b.getContext()), {source, Word::kPointer, bytes});
    SmallVector<Value> sizes;
    for (unsigned i = 0; i < type.getRank(); ++i)
      if (type.isDynamicDim(i)) sizes.push_back(pass(b.getI64Type(), {source, Word::kSize, i}));
    return bufferAt(b, loc, type, sizes, pointer, converter_);
  }

  // A small constant, which the device's module gets under a name that is its content's.
  Value constant(OpBuilder& b, memref::GetGlobalOp use) {
    auto own = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(main_, use.getNameAttr());
    std::string text;
    llvm::raw_string_ostream out(text);
    out << own.getType() << " = ";
    own.getInitialValueAttr().print(out);
    const std::string name = "kiln_c" + llvm::toHex(ArrayRef(hashOf(text)).take_front(8), /*LowerCase=*/true);
    if (!device_.lookupSymbol(name)) {
      OpBuilder top = OpBuilder::atBlockBegin(device_.getBody());
      auto made = cast<memref::GlobalOp>(top.clone(*own));
      made.setSymName(name);
      made.setPrivate();
      made.setConstant(true);
    }
    return memref::GetGlobalOp::create(b, use.getLoc(), use.getType(), name);
  }

  func::FuncOp main_;
  gpu::GPUModuleOp device_;
  LowerToLLVMOptions options_;
  LLVMTypeConverter converter_;
  SmallVector<Word> words_;
};

// What the run function asks of a device for one loop.
struct Launch {
  std::uint32_t kernel;  // the number of it
  std::int64_t threads;  // of a block
  Arguments& arguments;
};

// Gives buffers a memory space, and the views of them.
LogicalResult setSpace(Value buffer, Attribute space) {
  auto type = cast<MemRefType>(buffer.getType());
  buffer.setType(MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(), space));
  for (Operation* user : buffer.getUsers())
    for (Value result : user->getResults()) {
      if (!isa<MemRefType>(result.getType())) continue;
      if (!isa<ViewLikeOpInterface>(user))
        return user->emitError("a buffer of a block is handed on by an operation that makes no view");
      if (failed(setSpace(result, space))) return failure();
    }
  return success();
}

struct OutlineDeviceKernelsPass : impl::OutlineDeviceKernelsPassBase<OutlineDeviceKernelsPass> {
  explicit OutlineDeviceKernelsPass(Unit unit = {}, std::uint32_t space = 1, DeviceKernels* known = nullptr)
      : unit(unit), space(space), known(known) {}

  // Allocations of the block become views of its shared memory.
  LogicalResult placeShared(gpu::GPUFuncOp kernel, std::int64_t bytes) {
    SmallVector<memref::AllocOp> allocs;
    kernel.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    if (allocs.empty()) return success();
    const auto space = gpu::AddressSpaceAttr::get(&getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
    OpBuilder b(&getContext());
    auto type = MemRefType::get({bytes}, b.getI8Type(), MemRefLayoutAttrInterface{}, space);
    Value shared = kernel.addWorkgroupAttribution(type, kernel.getLoc());
    kernel.setWorkgroupAttributionAttr(0, LLVM::LLVMDialect::getAlignAttrName(),
                                       b.getI64IntegerAttr(kSharedAlignment));
    for (memref::AllocOp alloc : allocs) {
      auto offset = ir::OffsetAttr::get(alloc);
      if (!offset || bytes == 0) return alloc.emitError("not planned: run kiln-plan-memory first");
      b.setInsertionPoint(alloc);
      if (failed(setSpace(alloc, space))) return failure();
      Value at = arith::ConstantIndexOp::create(b, alloc.getLoc(), offset.getInt());
      alloc.replaceAllUsesWith(
          memref::ViewOp::create(b, alloc.getLoc(), alloc.getType(), shared, at, alloc.getDynamicSizes())
              .getResult());
      alloc.erase();
    }
    return success();
  }

  // The number of a kernel that does what this one does.
  std::uint32_t numberOf(gpu::GPUFuncOp kernel) {
    const std::string name = kernel.getName().str();
    kernel.setName("kernel");
    std::string text;
    llvm::raw_string_ostream out(text);
    kernel->print(out, OpPrintingFlags().printGenericOpForm().useLocalScope());
    kernel.setName(name);
    const auto next = static_cast<std::uint32_t>(known->names.size());
    if (known->share) {
      const auto [found, isNew] = known->bodies.try_emplace(hashOf(text), next);
      if (!isNew) return found->second;
    }
    known->names.push_back(name);
    return next;
  }

  LogicalResult outline(scf::ForallOp loop, func::FuncOp main, gpu::GPUModuleOp device, unsigned index,
                        SmallVectorImpl<Value>& statuses) {
    const Location loc = loop.getLoc();
    auto info = ir::KernelAttr::get(loop);
    const std::int64_t threads = schedule::numberOf(schedule::scheduleOf(info), schedule::kThreadsKnob, 0);
    if (threads == 0) return loop.emitError("not mapped to threads: run kiln-map-to-gpu first");
    if (loop.getNumResults() != 0) return loop.emitError("expected a loop on buffers");
    if (loop->getParentOp() != main) return loop.emitError("a kernel inside of other control flow");
    const auto steps = getConstantIntValues(loop.getMixedStep());
    if (!steps) return loop.emitError("expected constant steps");

    OpBuilder b(loop);
    OpFoldResult blocks = tasksOf(b, loop);
    const auto fixed = getConstantIntValue(blocks);
    if (fixed && *fixed > kMaxBlocks)
      return loop.emitError("a kernel of " + std::to_string(*fixed) + " blocks, more than a grid has");

    b.setInsertionPointToEnd(device.getBody());
    auto kernel = gpu::GPUFuncOp::create(b, loc, symbolFor(info, unit, index), b.getFunctionType({}, {}));
    kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
    kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({static_cast<std::int32_t>(threads), 1, 1}));
    ir::ThreadsAttr::set(kernel, b.getI64IntegerAttr(threads));
    Arguments arguments(main, device);
    arguments.entry = &kernel.front();
    b.setInsertionPointToStart(arguments.entry);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(loop.getRegion(), captured);
    captured.insert_range(loop.getDynamicLowerBound());
    captured.insert_range(loop.getDynamicUpperBound());
    for (Value value : captured)
      if (failed(arguments.stand(b, value))) return failure();
    const auto here = [&](SmallVector<OpFoldResult> bounds) {
      for (OpFoldResult& bound : bounds)
        if (auto value = dyn_cast<Value>(bound)) bound = arguments.map.lookup(value);
      return bounds;
    };
    const auto from = here(loop.getMixedLowerBound()), to = here(loop.getMixedUpperBound());
    Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
    arguments.map.map(loop.getInductionVars(),
                      indicesOf(b, loc, block, countsOf(b, loop, from, to), from, *steps));
    for (Operation& op : loop.getBody()->without_terminator()) b.clone(op, arguments.map);
    for (Value part : arguments.parts) retypeViews(part);
    gpu::ReturnOp::create(b, loc);
    kernel.setFunctionType(b.getFunctionType(TypeRange(arguments.entry->getArgumentTypes()), {}));
    arguments.markAlone(kernel, loop);
    auto shared = ir::kernel::kSharedBytes.in(info);
    if (failed(placeShared(kernel, shared ? shared.getInt() : 0))) return failure();
    if (arguments.size() > KILN_MAX_KERNEL_ARGUMENTS)
      return loop.emitError("a kernel of " + std::to_string(arguments.size()) + " arguments");

    const std::uint32_t number = numberOf(kernel);
    NamedAttrList attributes(info);
    ir::kernel::kMovedBytes.set(attributes,
                                ir::toAttribute(&getContext(), memory::movedBytes(loop, ir::limitsOf(main))));
    if (fixed) ir::kernel::kTasks.set(attributes, b.getI64IntegerAttr(*fixed));
    if (known->names[number] != kernel.getName()) {
      // What is said about the loop stays; the code is the other's.
      ir::kernel::kCodeOf.set(attributes, b.getStringAttr(known->names[number]));
    }
    ir::kernel::kSymbol.set(attributes, b.getStringAttr(kernel.getName()));
    launches.push_back(attributes.getDictionary(&getContext()));
    b.setInsertionPoint(loop);
    statuses.push_back(launch(b, loop, main, {number, threads, arguments}, blocks));
    if (known->names[number] != kernel.getName()) kernel.erase();
    loop.erase();
    return success();
  }

  Value word(OpBuilder& b, Location loc, std::int64_t value, unsigned bits) {
    return LLVM::ConstantOp::create(b, loc, b.getIntegerAttr(b.getIntegerType(bits), value));
  }

  // callbacks->launch(callbacks->user, &launch): an i32, the status.
  Value launch(OpBuilder& b, scf::ForallOp loop, func::FuncOp main, const Launch& what, OpFoldResult blocks) {
    const Location loc = loop.getLoc();
    if (auto fixed = getConstantIntValue(blocks))
      return *fixed == 0 ? word(b, loc, KILN_RUN_OK, 32)
                         : enqueue(b, loc, main, what, word(b, loc, *fixed, 32));
    // A grid has at least one block.
    Value count = arith::IndexCastOp::create(b, loc, b.getI64Type(), cast<Value>(blocks));
    const auto is = [&](arith::CmpIPredicate predicate, std::int64_t value) {
      return arith::CmpIOp::create(b, loc, predicate, count, word(b, loc, value, 64)).getResult();
    };
    Value wanted = is(arith::CmpIPredicate::sgt, 0), fits = is(arith::CmpIPredicate::sle, kMaxBlocks);
    Value runs = arith::AndIOp::create(b, loc, wanted, fits);
    auto branch = scf::IfOp::create(b, loc, TypeRange{b.getI32Type()}, runs, /*withElseRegion=*/true);
    OpBuilder inside = branch.getThenBodyBuilder();
    Value narrow = arith::TruncIOp::create(inside, loc, b.getI32Type(), count);
    scf::YieldOp::create(inside, loc, enqueue(inside, loc, main, what, narrow));
    OpBuilder otherwise = branch.getElseBodyBuilder();
    Value none = arith::SelectOp::create(otherwise, loc, fits, word(otherwise, loc, KILN_RUN_OK, 32),
                                         word(otherwise, loc, KILN_RUN_BOUND_EXCEEDED, 32));
    scf::YieldOp::create(otherwise, loc, none);
    return branch.getResult(0);
  }

  Value enqueue(OpBuilder& b, Location loc, func::FuncOp main, const Launch& what, Value blocks) {
    MLIRContext* context = b.getContext();
    auto pointer = LLVM::LLVMPointerType::get(context);
    const auto count = static_cast<std::int64_t>(what.arguments.size());
    most = std::max(most, count);
    what.arguments.store(b, loc, words);
    const auto field = [&](std::int32_t at, Value value) {
      Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI32Type(), request, ArrayRef<LLVM::GEPArg>{at});
      LLVM::StoreOp::create(b, loc, value, slot);
    };
    // As kiln_launch, in words of 32 bits.
    field(0, word(b, loc, space, 32));
    field(1, word(b, loc, what.kernel, 32));
    field(2, blocks);
    field(3, word(b, loc, 1, 32));
    field(4, word(b, loc, 1, 32));
    field(5, word(b, loc, what.threads, 32));
    field(6, word(b, loc, count, 32));
    field(7, word(b, loc, 0, 32));
    field(8, words);
    const auto callback = [&](std::int32_t at) {
      Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, main.getArgument(kCallbacks),
                                       ArrayRef<LLVM::GEPArg>{at});
      return LLVM::LoadOp::create(b, loc, pointer, slot).getResult();
    };
    Value function = callback(kLaunch), user = callback(kUser);
    auto signature = LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, pointer});
    return LLVM::CallOp::create(b, loc, signature, ValueRange{function, user, request}).getResult();
  }

  // What only the loops used; anything that works on memory must have become a kernel.
  LogicalResult dropUnused(func::FuncOp main) {
    for (Operation& op : llvm::make_early_inc_range(llvm::reverse(main.front())))
      if (!op.hasTrait<OpTrait::IsTerminator>() && op.use_empty() &&
          (isMemoryEffectFree(&op) || isa<memref::AllocOp>(op)))
        op.erase();
    const WalkResult found = main.walk([&](Operation* op) {
      if (!isa<memref::LoadOp, memref::StoreOp, memref::CopyOp>(op)) return WalkResult::advance();
      op->emitError("reads or writes a device's memory outside of a kernel: run kiln-map-to-gpu first");
      return WalkResult::interrupt();
    });
    return failure(found.wasInterrupted());
  }

  // The run function ends with the first launch that fails.
  void returnOnFailure(func::FuncOp main, ArrayRef<Value> statuses) {
    const Location loc = main.getLoc();
    if (statuses.empty()) return;
    OpBuilder b(&getContext());
    Block* stop = b.createBlock(&main.getBody(), main.getBody().end(), {b.getI32Type()}, {loc});
    func::ReturnOp::create(b, loc, stop->getArgument(0));
    for (Value status : statuses) {
      Operation* op = status.getDefiningOp();
      Block* block = op->getBlock();
      Block* next = block->splitBlock(std::next(op->getIterator()));
      b.setInsertionPointToEnd(block);
      Value failed =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, status, word(b, loc, KILN_RUN_OK, 32));
      cf::CondBranchOp::create(b, loc, failed, stop, ValueRange{status}, next, ValueRange{});
    }
  }

  LogicalResult makeRun(func::FuncOp main) {
    const Location loc = main.getLoc();
    OpBuilder top = OpBuilder::atBlockEnd(getOperation().getBody());
    auto device = gpu::GPUModuleOp::create(top, loc, kDeviceModule);
    RunFunction run(main, unit);
    OpBuilder b = OpBuilder::atBlockBegin(&main.front());
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    Value one = word(b, loc, 1, 64);
    request = LLVM::AllocaOp::create(b, loc, pointer,
                                     LLVM::LLVMArrayType::get(b.getI64Type(), sizeof(kiln_launch) / 8), one);
    auto list = LLVM::AllocaOp::create(b, loc, pointer, b.getI64Type(), one);
    words = list;
    SmallVector<Value> statuses;
    for (auto [index, loop] : llvm::enumerate(parallelLoops(main)))
      if (failed(outline(loop, main, device, index, statuses))) return failure();
    list.setElemType(LLVM::LLVMArrayType::get(b.getI64Type(), std::max<std::int64_t>(most, 1)));
    if (failed(dropUnused(main)) || failed(run.finish(list))) return failure();
    returnOnFailure(main, statuses);
    ir::LaunchesAttr::set(main, ArrayAttr::get(&getContext(), launches));
    return success();
  }

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>(ir::kMain);
    if (!main || !main.getBody().hasOneBlock()) {
      getOperation().emitError("expected a function @main with one block");
      return signalPassFailure();
    }
    DeviceKernels own;
    DeviceKernels* const given = known;
    if (!known) known = &own;
    launches.clear();
    most = 0;
    if (failed(makeRun(main))) signalPassFailure();
    known = given;
  }

  Unit unit;
  std::uint32_t space;
  DeviceKernels* known;   // of the caller, which outlives the pass; null: of this unit alone
  Value request, words;   // on the run function's stack, used by one launch after the other
  std::int64_t most = 0;  // words of a launch
  SmallVector<Attribute> launches;
};

}  // namespace

std::unique_ptr<Pass> createOutlineDeviceKernelsPass(Unit unit, std::uint32_t space, DeviceKernels* kernels) {
  return std::make_unique<OutlineDeviceKernelsPass>(unit, space, kernels);
}

}  // namespace kiln::codegen
