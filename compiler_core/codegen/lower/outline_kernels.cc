#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/runtime/program_abi.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/RegionUtils.h"

namespace kiln::codegen {
namespace {

using namespace mlir;

// The run's arguments, in the order of kiln_run. A kernel's environment holds those from kArena to kSymbols.
enum Pointer : unsigned {
  kCallbacks,
  kArena,
  kWeights,
  kInputs,
  kOutputs,
  kSymbols,
  kOutputDims,
  kPointers,
  kEnvironment = kOutputDims - kArena
};

// C identifiers for perf and gdb: "conv1/Conv" becomes conv1_Conv.
std::string symbolFor(DictionaryAttr kernel, unsigned index) {
  std::string name = "kiln_k" + std::to_string(index);
  if (auto nodes = kernel ? kernel.getAs<ArrayAttr>("nodes") : ArrayAttr())
    for (Attribute node : nodes) {
      if (name.size() > 80) break;
      name += '_';
      for (char c : cast<StringAttr>(node).getValue().take_front(48)) name += llvm::isAlnum(c) ? c : '_';
    }
  return name;
}

// Makes buffers out of the run's pointers, in the run function or in a kernel.
class Buffers {
 public:
  Buffers(MLIRContext* context, std::array<Value, kPointers> pointers, Value scratch)
      : options_(context), converter_(context, options_), pointers_(pointers), scratch_(scratch) {}

  Value argument(OpBuilder& b, Location loc, MemRefType type, Pointer table, std::int64_t index) {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, pointers_[table],
                                     ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(index)});
    return buffer(b, loc, type, LLVM::LoadOp::create(b, loc, pointer, slot));
  }
  Value planned(OpBuilder& b, Location loc, MemRefType type, bool inScratch, std::int64_t offset) {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value at = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(offset));
    Value base = inScratch ? scratch_ : pointers_[kArena];
    return buffer(b, loc, type,
                  LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{at}));
  }

 private:
  Value buffer(OpBuilder& b, Location loc, MemRefType type, Value pointer) {
    Value descriptor = MemRefDescriptor::fromStaticShape(b, loc, converter_, type, pointer);
    return UnrealizedConversionCastOp::create(b, loc, type, descriptor).getResult(0);
  }

  LowerToLLVMOptions options_;
  LLVMTypeConverter converter_;
  std::array<Value, kPointers> pointers_;
  Value scratch_;
};

struct OutlineKernelsPass : PassWrapper<OutlineKernelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OutlineKernelsPass)
  StringRef getArgument() const final { return "kiln-outline-kernels"; }
  StringRef getDescription() const final {
    return "Parallel loops become kernels, @main becomes @kiln_run_0";
  }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<LLVM::LLVMDialect, func::FuncDialect, arith::ArithDialect>();
  }

  // A number that a kernel cannot calculate again, such as that of an iteration of the loop around it: it
  // becomes one more entry of the environment.
  Value receive(OpBuilder& b, Value value) {
    const Location loc = value.getLoc();
    const Type type = value.getType();
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    passed_.push_back(value);
    const auto index = static_cast<std::int32_t>(kEnvironment + passed_.size() - 1);
    Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, b.getBlock()->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{index});
    const Type stored = type.isIndex() ? b.getI64Type() : type;
    Value number = LLVM::LoadOp::create(b, loc, stored, slot);
    return type.isIndex() ? arith::IndexCastOp::create(b, loc, type, number).getResult() : number;
  }
  // The calling side.
  void send(OpBuilder& b, Location loc, Value environment) {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    for (auto [i, value] : llvm::enumerate(passed_)) {
      const auto index = static_cast<std::int32_t>(kEnvironment + i);
      Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, environment, ArrayRef<LLVM::GEPArg>{index});
      if (value.getType().isIndex()) value = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
      LLVM::StoreOp::create(b, loc, value, slot);
    }
    mostPassed_ = std::max(mostPassed_, passed_.size());
    passed_.clear();
  }

  // A copy of `value` and of what it is made from, where `builder` stands. Only what has no effect can be
  // repeated; other numbers are passed.
  FailureOr<Value> rematerialise(OpBuilder& builder, Value value, func::FuncOp main, Buffers& buffers,
                                 IRMapping& map) {
    if (map.contains(value)) return map.lookup(value);
    const Location loc = value.getLoc();
    const bool isNumber = value.getType().isIntOrIndexOrFloat();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != &main.front()) {
        if (!isNumber) return main.emitError("a kernel uses a buffer of another loop");
        map.map(value, receive(builder, value));
        return map.lookup(value);
      }
      for (auto [name, table] :
           {std::pair{"kiln.input", kInputs}, {"kiln.weight", kWeights}, {"kiln.output", kOutputs}})
        if (auto index = main.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), name)) {
          map.map(value,
                  buffers.argument(builder, loc, cast<MemRefType>(value.getType()), table, index.getInt()));
          return map.lookup(value);
        }
      return main.emitError("an argument is neither input, weight nor output");
    }
    Operation* op = value.getDefiningOp();
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      auto offset = alloc->getAttrOfType<IntegerAttr>("kiln.offset");
      if (!offset) return alloc.emitError("not planned: run kiln-plan-memory first");
      map.map(value, buffers.planned(builder, loc, alloc.getType(), /*inScratch=*/false, offset.getInt()));
      return map.lookup(value);
    }
    if (!isPure(op) || op->getNumRegions() != 0) {
      if (!isNumber) return op->emitError("a kernel uses a value that cannot be computed again");
      map.map(value, receive(builder, value));
      return map.lookup(value);
    }
    for (Value operand : op->getOperands())
      if (failed(rematerialise(builder, operand, main, buffers, map))) return failure();
    builder.clone(*op, map);
    return map.lookup(value);
  }

  // Allocations of the task itself lie in its slot's scratch.
  void placeScratch(Region& body, Buffers& buffers) {
    SmallVector<memref::AllocOp> allocs;
    body.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    for (memref::AllocOp alloc : allocs) {
      OpBuilder builder(alloc);
      const auto offset = alloc->getAttrOfType<IntegerAttr>("kiln.offset").getInt();
      alloc.replaceAllUsesWith(
          buffers.planned(builder, alloc.getLoc(), alloc.getType(), /*inScratch=*/true, offset));
      alloc->erase();
    }
  }

  // Loop indices of `task`, the row-major number of an iteration.
  SmallVector<Value> indices(OpBuilder& b, Location loc, Value task, ArrayRef<std::int64_t> counts,
                             ArrayRef<std::int64_t> from, ArrayRef<std::int64_t> steps) {
    auto number = [&](std::int64_t value) {
      return arith::ConstantIndexOp::create(b, loc, value).getResult();
    };
    SmallVector<Value> result(counts.size());
    for (std::size_t i = counts.size(); i-- > 0;) {
      Value digit = i == 0 ? task : arith::RemUIOp::create(b, loc, task, number(counts[i])).getResult();
      if (i > 0) task = arith::DivUIOp::create(b, loc, task, number(counts[i]));
      result[i] = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, digit, number(steps[i])),
                                        number(from[i]));
    }
    return result;
  }

  LogicalResult outline(scf::ForallOp loop, func::FuncOp main, Value environment, unsigned index) {
    MLIRContext* context = &getContext();
    const Location loc = loop.getLoc();
    if (loop.getNumResults() != 0) return loop.emitError("expected a loop on buffers");
    auto from = getConstantIntValues(loop.getMixedLowerBound()),
         to = getConstantIntValues(loop.getMixedUpperBound()),
         steps = getConstantIntValues(loop.getMixedStep());
    if (!from || !to || !steps) return loop.emitError("expected constant bounds");
    SmallVector<std::int64_t> counts;
    std::int64_t tasks = 1;
    for (auto [lo, hi, step] : llvm::zip_equal(*from, *to, *steps)) {
      counts.push_back((hi - lo + step - 1) / step);
      tasks *= counts.back();
    }

    auto kernelInfo = loop->getAttrOfType<DictionaryAttr>(schedule::kKernelAttr);
    auto pointer = LLVM::LLVMPointerType::get(context);
    OpBuilder top(main);
    const auto type = top.getFunctionType({pointer, top.getI64Type(), pointer}, {});
    auto kernel = func::FuncOp::create(top, loc, symbolFor(kernelInfo, index), type);
    kernel.setPrivate();
    if (kernelInfo) {
      NamedAttrList attributes(kernelInfo);
      attributes.set("tasks", top.getI64IntegerAttr(tasks));
      kernel->setAttr(schedule::kKernelAttr, attributes.getDictionary(context));
    }
    Block* entry = kernel.addEntryBlock();
    OpBuilder b = OpBuilder::atBlockBegin(entry);
    std::array<Value, kPointers> pointers{};
    for (unsigned i = 0; i < kEnvironment; ++i) {
      Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, entry->getArgument(0),
                                       ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(i)});
      pointers[kArena + i] = LLVM::LoadOp::create(b, loc, pointer, slot);
    }
    Buffers buffers(context, pointers, entry->getArgument(2));
    IRMapping map;
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(loop.getRegion(), captured);
    for (Value value : captured)
      if (failed(rematerialise(b, value, main, buffers, map))) return failure();
    Value task = arith::IndexCastOp::create(b, loc, b.getIndexType(), entry->getArgument(1));
    map.map(loop.getInductionVars(), indices(b, loc, task, counts, *from, *steps));
    for (Operation& op : loop.getBody()->without_terminator()) b.clone(op, map);
    func::ReturnOp::create(b, loc);
    placeScratch(kernel.getBody(), buffers);

    // callbacks->parallel_for(callbacks->user, kernel, environment, tasks)
    b.setInsertionPoint(loop);
    send(b, loc, environment);
    Value callbacks = main.getArgument(kCallbacks);
    Value target = func::ConstantOp::create(b, loc, type, FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
    target = UnrealizedConversionCastOp::create(b, loc, pointer, target).getResult(0);
    Value parallelFor = LLVM::LoadOp::create(b, loc, pointer, callbacks);
    Value userSlot = LLVM::GEPOp::create(b, loc, pointer, pointer, callbacks, ArrayRef<LLVM::GEPArg>{1});
    Value user = LLVM::LoadOp::create(b, loc, pointer, userSlot);
    Value count = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(tasks));
    auto signature = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                                 {pointer, pointer, pointer, b.getI64Type()});
    LLVM::CallOp::create(b, loc, signature, ValueRange{parallelFor, user, target, environment, count});
    loop.erase();
    return success();
  }

  // The profile's kiln_shapes: @kiln_shapes_<profile>, which stores the dimensions of the outputs.
  func::FuncOp addShapes(func::FuncOp main, unsigned profile) {
    const Location loc = main.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    OpBuilder b(main);
    auto shapes = func::FuncOp::create(b, loc, "kiln_shapes_" + std::to_string(profile),
                                       b.getFunctionType({pointer, pointer}, {}));
    // In output order, which the arguments need not have.
    SmallVector<MemRefType> outputs;
    for (BlockArgument argument : main.getArguments())
      if (auto index = main.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "kiln.output")) {
        outputs.resize(std::max<std::size_t>(outputs.size(), index.getInt() + 1));
        outputs[index.getInt()] = cast<MemRefType>(argument.getType());
      }
    Block* entry = shapes.addEntryBlock();
    b.setInsertionPointToStart(entry);
    std::int32_t at = 0;
    for (MemRefType output : outputs)
      for (const std::int64_t dim : output.getShape()) {
        Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), entry->getArgument(1),
                                         ArrayRef<LLVM::GEPArg>{at++});
        LLVM::StoreOp::create(b, loc, LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(dim)), slot);
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
    if (failed(makeEntry(main, 0))) return signalPassFailure();
  }

  // The function of a profile becomes @kiln_run_<profile>.
  LogicalResult makeEntry(func::FuncOp old, unsigned profile) {
    mostPassed_ = 0;
    MLIRContext* context = &getContext();
    const Location loc = old.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(context);
    func::FuncOp shapes = addShapes(old, profile);
    OpBuilder b(old);

    // A new function with the ABI's arguments in front; the buffers follow until everything is replaced.
    Block& entry = old.front();
    for (unsigned i = 0; i < kPointers; ++i)
      if (failed(old.insertArgument(i, pointer, {}, loc))) return failure();
    std::array<Value, kPointers> pointers{};
    for (unsigned i = 0; i < kPointers; ++i) pointers[i] = old.getArgument(i);
    Buffers buffers(context, pointers, Value());

    b.setInsertionPointToStart(&entry);
    Value one = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(1));
    auto environmentType = LLVM::LLVMArrayType::get(pointer, kEnvironment);
    auto environment = LLVM::AllocaOp::create(b, loc, pointer, environmentType, one);
    for (unsigned i = 0; i < kEnvironment; ++i) {
      Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, environment,
                                       ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(i)});
      LLVM::StoreOp::create(b, loc, pointers[kArena + i], slot);
    }

    SmallVector<scf::ForallOp> loops;
    old.walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
      loops.push_back(loop);
      return WalkResult::skip();
    });
    for (auto [index, loop] : llvm::enumerate(loops))
      if (failed(outline(loop, old, environment, index))) return failure();
    environment.setElemType(LLVM::LLVMArrayType::get(pointer, kEnvironment + mostPassed_));

    // What the calling thread does itself uses the same buffers.
    IRMapping map;
    SmallVector<Value> values(llvm::drop_begin(old.getArguments(), kPointers));
    SmallVector<Operation*> allocs;
    old.walk([&](memref::AllocOp alloc) {
      values.push_back(alloc.getResult());
      allocs.push_back(alloc);
    });
    for (Value value : values) {
      if (value.use_empty()) continue;
      auto made = rematerialise(b, value, old, buffers, map);
      if (failed(made)) return failure();
      value.replaceAllUsesWith(*made);
    }
    for (Operation* alloc : allocs) alloc->erase();

    llvm::BitVector drop(old.getNumArguments(), false);
    drop.set(kPointers, old.getNumArguments());
    if (failed(old.eraseArguments(drop))) return failure();
    old.setType(b.getFunctionType(old.getArgumentTypes(), b.getI32Type()));
    auto terminator = cast<func::ReturnOp>(entry.getTerminator());
    b.setInsertionPoint(terminator);
    func::CallOp::create(b, loc, shapes, ValueRange{pointers[kSymbols], pointers[kOutputDims]});
    Value ok = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(KILN_RUN_OK));
    func::ReturnOp::create(b, loc, ok);
    terminator.erase();
    old.setName("kiln_run_" + std::to_string(profile));
    return success();
  }

  SmallVector<Value> passed_;   // to the kernel that is being outlined
  std::size_t mostPassed_ = 0;  // to any of them
};

}  // namespace

std::unique_ptr<Pass> createOutlineKernelsPass() {
  return std::make_unique<OutlineKernelsPass>();
}

}  // namespace kiln::codegen
