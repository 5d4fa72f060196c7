#include <map>

#include "compiler_core/codegen/lower/buffers.h"
#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/ir/partition/partition_ops.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/memory/plan.h"
#include "compiler_core/runtime/program_abi.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"

namespace kiln::codegen {
namespace {

using namespace mlir;

// The part of the arena that belongs to one target: the partitions' own arenas, which live while they run,
// and what they hand on.
struct Region {
  std::vector<memory::Buffer> buffers, least;  // `least`: own arenas at their lower bounds
  std::uint64_t offset = 0, unshared = 0;
  std::int64_t count = 0;
  memory::Plan plan;
};

std::uint64_t numberOn(Operation* op, StringRef name) {
  auto attribute = op->getAttrOfType<IntegerAttr>(name);
  return attribute ? static_cast<std::uint64_t>(attribute.getInt()) : 0;
}

class Joiner {
 public:
  Joiner(ModuleOp module, func::FuncOp main, unsigned profile)
      : module_(module),
        main_(main),
        profile_(profile),
        pointer_(LLVM::LLVMPointerType::get(main.getContext())),
        limits_(ir::limitsOf(main)) {}

  LogicalResult run() {
    if (failed(plan())) return failure();
    addSymbols();
    addShapes();
    addRun();
    return success();
  }

 private:
  using Pointers = std::array<Value, kPointers>;

  static bool isReturned(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation* user) { return isa<func::ReturnOp>(user); });
  }
  func::FuncOp callee(func::CallOp call) { return module_.lookupSymbol<func::FuncOp>(call.getCallee()); }
  StringRef targetOf(func::CallOp call) {
    return callee(call)->getAttrOfType<StringAttr>(ir::kTargetAttr).getValue();
  }

  // --- Memory.

  void add(StringRef target, void* key, std::uint64_t bytes, std::uint64_t least, std::uint32_t first,
           std::uint32_t last) {
    Region& region = regions_[target];
    places_[key] = {target, region.buffers.size()};
    region.buffers.push_back({bytes, first, last});
    region.least.push_back({least, first, last});
  }

  LogicalResult plan() {
    llvm::DenseMap<Operation*, std::uint32_t> steps;
    for (Operation& op : main_.front()) steps[&op] = static_cast<std::uint32_t>(steps.size());
    for (Operation& op : main_.front().without_terminator()) {
      StringRef target;
      if (auto call = dyn_cast<func::CallOp>(op)) {
        func::FuncOp function = callee(call);
        if (!function || !function->hasAttr(ir::kTargetAttr)) return op.emitError("calls no partition");
        target = targetOf(call);
        add(target, &op, numberOn(function, "kiln.arena_bytes"), numberOn(function, "kiln.arena_live_bytes"),
            steps[&op], steps[&op]);
        regions_[target].unshared += numberOn(function, "kiln.arena_total_bytes");
        regions_[target].count += static_cast<std::int64_t>(numberOn(function, "kiln.arena_buffers"));
      } else if (auto transfer = dyn_cast<ir::TransferOp>(op)) {
        target = transfer.getTo();
      } else {
        return op.emitError("neither a partition's call nor a transfer: run kiln-partition first");
      }
      for (Value result : op.getResults()) {
        if (isReturned(result)) continue;
        std::uint32_t last = steps[&op];
        for (Operation* user : result.getUsers()) last = std::max(last, steps[user]);
        const std::uint64_t bytes = mostBytes(result.getType());
        add(target, result.getAsOpaquePointer(), bytes, bytes, steps[&op], last);
        regions_[target].unshared += llvm::alignTo(bytes, memory::kAlignment);
        ++regions_[target].count;
      }
    }
    std::uint64_t offset = 0;
    for (auto& [target, region] : regions_) {
      region.plan = memory::plan(region.buffers);
      region.offset = offset;
      offset += llvm::alignTo(region.plan.peak, memory::kAlignment);
    }
    arenaBytes_ = offset;
    return success();
  }

  std::uint64_t mostBytes(Type type) const {
    auto tensor = ir::tensorType(type);
    std::uint64_t bytes = (tensor.getElementTypeBitWidth() + 7) / 8;
    for (const ir::Dim& dim : ir::shapeOf(tensor))
      bytes *= static_cast<std::uint64_t>(ir::rangeOf(dim, limits_).value_or(ir::Range{}).max);
    return bytes;
  }

  std::uint64_t offsetOf(void* key) {
    const auto& [target, index] = places_.at(key);
    const Region& region = regions_[target];
    return region.offset + region.plan.offsets[index];
  }

  ArrayAttr regionsAttr(Builder& b) {
    SmallVector<Attribute> list;
    for (auto& [target, region] : regions_) {
      const auto number = [&](std::uint64_t value) {
        return b.getI64IntegerAttr(static_cast<std::int64_t>(value));
      };
      list.push_back(b.getDictionaryAttr(
          {b.getNamedAttr("target", b.getStringAttr(target)), b.getNamedAttr("offset", number(region.offset)),
           b.getNamedAttr("bytes", number(region.plan.peak)),
           b.getNamedAttr("live_bytes", number(memory::plan(region.least).lowerBound)),
           b.getNamedAttr("total_bytes", number(region.unshared)),
           b.getNamedAttr("buffers", b.getI64IntegerAttr(region.count))}));
    }
    return b.getArrayAttr(list);
  }

  // --- Code.

  // What extentValue asks for: the symbols that the caller gives.
  void addSymbols() {
    Builder b(main_.getContext());
    for (auto [i, symbol] : llvm::enumerate(ir::symbolsOf(module_)))
      if (symbol.isGiven())
        (void)main_.insertArgument(main_.getNumArguments(), b.getIndexType(),
                                   b.getDictionaryAttr(b.getNamedAttr(
                                       "kiln.symbol", b.getI64IntegerAttr(static_cast<std::int64_t>(i)))),
                                   main_.getLoc());
  }

  Value word(OpBuilder& b, std::uint64_t value) {
    return LLVM::ConstantOp::create(b, main_.getLoc(), b.getI64IntegerAttr(static_cast<std::int64_t>(value)));
  }
  Value slot(OpBuilder& b, Value table, Type type, std::int64_t index) {
    return LLVM::GEPOp::create(b, main_.getLoc(), pointer_, type, table,
                               ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(index)});
  }
  Value inArena(OpBuilder& b, const Pointers& pointers, std::uint64_t offset) {
    return LLVM::GEPOp::create(b, main_.getLoc(), pointer_, b.getI8Type(), pointers[kArena],
                               ArrayRef<LLVM::GEPArg>{word(b, offset)});
  }

  void addShapes() {
    OpBuilder b(main_);
    const Location loc = main_.getLoc();
    auto shapes = func::FuncOp::create(b, loc, "kiln_shapes_" + std::to_string(profile_),
                                       b.getFunctionType({pointer_, pointer_}, {}));
    Block* entry = shapes.addEntryBlock();
    b.setInsertionPointToStart(entry);
    std::int64_t at = 0;
    for (Type type : main_.getResultTypes())
      for (const ir::Dim& dim : ir::shapeOf(ir::tensorType(type)))
        LLVM::StoreOp::create(b, loc, extentValue(b, loc, dim, main_, entry->getArgument(0)),
                              slot(b, entry->getArgument(1), b.getI64Type(), at++));
    func::ReturnOp::create(b, loc);
  }

  Value bytesOf(OpBuilder& b, Type type, Value symbols) {
    auto tensor = ir::tensorType(type);
    Value bytes = word(b, (tensor.getElementTypeBitWidth() + 7) / 8);
    for (const ir::Dim& dim : ir::shapeOf(tensor))
      bytes = arith::MulIOp::create(b, main_.getLoc(), bytes,
                                    extentValue(b, main_.getLoc(), dim, main_, symbols));
    return bytes;
  }

  // Where a value lies that a partition reads.
  Value source(OpBuilder& b, Value value, const Pointers& pointers) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return LLVM::LoadOp::create(b, main_.getLoc(), pointer_,
                                  slot(b, pointers[kInputs], pointer_, argument.getArgNumber()));
    return inArena(b, pointers, offsetOf(value.getAsOpaquePointer()));
  }

  // A table on the stack of the run function.
  Value table(Block* entry, Type element, std::size_t size) {
    OpBuilder b = OpBuilder::atBlockBegin(entry);
    auto type = LLVM::LLVMArrayType::get(element, std::max<std::size_t>(size, 1));
    return LLVM::AllocaOp::create(b, main_.getLoc(), pointer_, type, word(b, 1));
  }

  func::FuncOp declare(unsigned number, FunctionType type) {
    OpBuilder b(main_);
    auto function =
        func::FuncOp::create(b, main_.getLoc(), "kiln_run_" + Unit{profile_, number}.text(), type);
    function.setPrivate();
    return function;
  }

  // One partition's call: tables of pointers, the call, the dimensions of what @main returns.
  Value call(OpBuilder& b, func::CallOp op, func::FuncOp function, Block* entry, const Pointers& pointers,
             SmallVectorImpl<std::pair<Value, Value>>& dims) {
    const Location loc = main_.getLoc();
    Value inputs = table(entry, pointer_, op.getNumOperands());
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      LLVM::StoreOp::create(b, loc, source(b, operand, pointers), slot(b, inputs, pointer_, i));
    Value outputs = table(entry, pointer_, op.getNumResults());
    std::int64_t rank = 0;
    SmallVector<std::pair<std::int64_t, std::int64_t>> moves;  // from the partition's to the program's
    for (OpResult result : op.getResults()) {
      const std::int64_t own = ir::tensorType(result).getRank();
      Value place;
      if (isReturned(result)) {
        const unsigned index = result.use_begin()->getOperandNumber();
        place = LLVM::LoadOp::create(b, loc, pointer_, slot(b, pointers[kOutputs], pointer_, index));
        std::int64_t before = 0;
        for (Type type : main_.getResultTypes().take_front(index)) before += ir::tensorType(type).getRank();
        for (std::int64_t i = 0; i < own; ++i) moves.emplace_back(rank + i, before + i);
      } else {
        place = inArena(b, pointers, offsetOf(result.getAsOpaquePointer()));
      }
      LLVM::StoreOp::create(b, loc, place, slot(b, outputs, pointer_, result.getResultNumber()));
      rank += own;
    }
    Value extents = table(entry, b.getI64Type(), static_cast<std::size_t>(rank));
    for (auto [from, to] : moves)
      dims.emplace_back(slot(b, extents, b.getI64Type(), from),
                        slot(b, pointers[kOutputDims], b.getI64Type(), to));
    return func::CallOp::create(b, loc, function,
                                ValueRange{pointers[kCallbacks], inArena(b, pointers, offsetOf(op)),
                                           pointers[kWeights], inputs, outputs, pointers[kSymbols], extents})
        .getResult(0);
  }

  void addRun() {
    OpBuilder b(main_);
    const Location loc = main_.getLoc();
    const auto type = b.getFunctionType(SmallVector<Type>(kPointers, pointer_), b.getI32Type());
    auto run = func::FuncOp::create(b, loc, "kiln_run_" + std::to_string(profile_), type);
    run->setAttr("kiln.regions", regionsAttr(b));
    run->setAttr("kiln.arena_bytes", b.getI64IntegerAttr(static_cast<std::int64_t>(arenaBytes_)));
    Block* entry = run.addEntryBlock();
    Pointers pointers{};
    for (unsigned i = 0; i < kPointers; ++i) pointers[i] = entry->getArgument(i);
    Block* stop = run.addBlock();
    stop->addArgument(b.getI32Type(), loc);
    b.setInsertionPointToEnd(stop);
    func::ReturnOp::create(b, loc, stop->getArgument(0));
    b.setInsertionPointToEnd(entry);
    unsigned number = 0;
    for (Operation& op : main_.front().without_terminator()) {
      if (auto transfer = dyn_cast<ir::TransferOp>(op)) {
        LLVM::MemcpyOp::create(b, loc, source(b, transfer.getResult(), pointers),
                               source(b, transfer.getInput(), pointers),
                               bytesOf(b, transfer.getType(), pointers[kSymbols]), /*isVolatile=*/false);
        continue;
      }
      SmallVector<std::pair<Value, Value>> dims;
      Value status = call(b, cast<func::CallOp>(op), declare(number++, type), entry, pointers, dims);
      Value ok = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(KILN_RUN_OK));
      Value failed = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, status, ok);
      Block* next = b.createBlock(stop);
      b.setInsertionPointToEnd(next->getPrevNode());
      cf::CondBranchOp::create(b, loc, failed, stop, ValueRange{status}, next, ValueRange{});
      b.setInsertionPointToEnd(next);
      for (auto [from, to] : dims)
        LLVM::StoreOp::create(b, loc, LLVM::LoadOp::create(b, loc, b.getI64Type(), from), to);
    }
    Value ok = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(KILN_RUN_OK));
    func::ReturnOp::create(b, loc, ok);
  }

  ModuleOp module_;
  func::FuncOp main_;
  unsigned profile_;
  Type pointer_;
  SmallVector<ir::Range> limits_;
  llvm::MapVector<StringRef, Region> regions_;                 // by target, in the order of their first call
  std::map<void*, std::pair<StringRef, std::size_t>> places_;  // looked up only
  std::uint64_t arenaBytes_ = 0;
};

struct JoinPartitionsPass : PassWrapper<JoinPartitionsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(JoinPartitionsPass)
  explicit JoinPartitionsPass(unsigned profile = 0) : profile(profile) {}
  StringRef getArgument() const final { return "kiln-join-partitions"; }
  StringRef getDescription() const final { return "A @main of partitions and transfers becomes @kiln_run_0"; }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<LLVM::LLVMDialect, affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect,
                    func::FuncDialect>();
  }
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>(ir::kMain);
    if (!main) {
      getOperation().emitError("expected a function @main");
      return signalPassFailure();
    }
    if (failed(Joiner(getOperation(), main, profile).run())) return signalPassFailure();
    SmallVector<func::FuncOp> partitions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(ir::kTargetAttr)) partitions.push_back(function);
    main.erase();
    for (func::FuncOp function : partitions) function.erase();
  }

  unsigned profile;
};

}  // namespace

std::unique_ptr<Pass> createJoinPartitionsPass(unsigned profile) {
  return std::make_unique<JoinPartitionsPass>(profile);
}

}  // namespace kiln::codegen
