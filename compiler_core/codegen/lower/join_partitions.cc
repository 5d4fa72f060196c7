#include <map>

#include "compiler_core/codegen/lower/buffers.h"
#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/ir/attributes.h"
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

#define GEN_PASS_DEF_JOINPARTITIONSPASS
#include "compiler_core/codegen/lower/passes.h.inc"

namespace {

using namespace mlir;

// Where the callbacks' fields stand, in pointers.
enum Callback : std::int64_t { kUser = 1, kCopy = 3, kWait = 4, kArenas = 5 };

// The part of an arena that belongs to one target: the partitions' own arenas, which live while they run,
// and what they hand on.
struct Region {
  std::uint32_t space = 0;  // whose arena: the processor's, which its targets share, or a device's
  std::vector<memory::Buffer> buffers, least;  // `least`: own arenas at their lower bounds
  std::uint64_t offset = 0, unshared = 0;
  std::int64_t count = 0;
  memory::Plan plan;
};

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

  // The device that is space 1, 2 ...: in the order of their first calls. A program has at most one today.
  std::uint32_t spaceOf(StringRef target) {
    if (!ir::isOnDevice(target)) return 0;
    return spaces_.try_emplace(target, static_cast<std::uint32_t>(spaces_.size()) + 1).first->second;
  }

  static bool isReturned(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation* user) { return isa<func::ReturnOp>(user); });
  }
  func::FuncOp callee(func::CallOp call) { return module_.lookupSymbol<func::FuncOp>(call.getCallee()); }
  // plan() has seen that it is there.
  StringRef targetOf(func::CallOp call) { return ir::TargetAttr::get(callee(call)).getValue(); }

  // --- Memory.

  void add(StringRef target, void* key, std::uint64_t bytes, std::uint64_t least, std::uint32_t first,
           std::uint32_t last) {
    Region& region = regions_[target];
    region.space = spaceOf(target);
    places_[key] = {target, region.buffers.size()};
    region.buffers.push_back({bytes, first, last});
    region.least.push_back({least, first, last});
  }

  LogicalResult plan() {
    findWaits();
    llvm::DenseMap<Operation*, std::uint32_t> steps;
    for (Operation& op : main_.front()) steps[&op] = static_cast<std::uint32_t>(steps.size());
    for (Operation& op : main_.front().without_terminator()) {
      StringRef target;
      if (auto call = dyn_cast<func::CallOp>(op)) {
        func::FuncOp function = callee(call);
        if (!function || !ir::TargetAttr::get(function)) return op.emitError("calls no partition");
        const auto arena = ir::arenaOf(function);
        if (failed(arena)) return failure();
        target = targetOf(call);
        add(target, &op, arena->bytes, arena->liveBytes, steps[&op], steps[&op]);
        regions_[target].unshared += arena->totalBytes;
        regions_[target].count += arena->buffers;
      } else if (auto transfer = dyn_cast<ir::TransferOp>(op)) {
        target = transfer.getTo();
        if (target == ir::kCallerMemory && !isReturned(transfer.getResult()))
          return op.emitError("a transfer to the caller that is no result");
      } else {
        return op.emitError("neither a partition's call nor a transfer: run kiln-partition first");
      }
      for (Value result : op.getResults()) {
        if (isReturned(result)) continue;
        std::uint32_t last = steps[&op];
        for (Operation* user : result.getUsers()) {
          // What a copy to a device reads stays as it is until a wait says that the copy is done.
          Operation* end = user;
          if (spaceOf(target) == 0 && isAsynchronous(user)) end = nextWait(user);
          last = std::max(last, steps[end]);
        }
        const auto bytes = mostBytes(result.getType());
        if (!bytes) return op.emitError("hands on a value that nothing bounds");
        add(target, result.getAsOpaquePointer(), *bytes, *bytes, steps[&op], last);
        regions_[target].unshared += llvm::alignTo(*bytes, memory::kAlignment);
        ++regions_[target].count;
      }
    }
    for (auto& [target, region] : regions_) {
      region.plan = memory::plan(region.buffers);
      arenaBytes_.resize(std::max<std::size_t>(arenaBytes_.size(), region.space + 1));
      region.offset = arenaBytes_[region.space];
      arenaBytes_[region.space] += llvm::alignTo(region.plan.peak, memory::kAlignment);
    }
    return success();
  }

  // --- Order. What is enqueued for a device runs later; the processor waits before it reads what comes from
  // there.

  bool isAsynchronous(Operation* op) {
    auto transfer = dyn_cast<ir::TransferOp>(op);
    return transfer && (spaceOf(transfer.getFrom()) != 0 || spaceOf(transfer.getTo()) != 0);
  }

  // The operations before which the processor waits.
  void findWaits() {
    llvm::SmallDenseSet<Value> coming;  // on their way to the processor's arena
    for (Operation& op : main_.front().without_terminator()) {
      auto call = dyn_cast<func::CallOp>(op);
      const bool reads = call ? spaceOf(targetOf(call)) == 0
                              : !isAsynchronous(&op) || spaceOf(cast<ir::TransferOp>(op).getFrom()) == 0;
      if (reads && llvm::any_of(op.getOperands(), [&](Value value) { return coming.contains(value); })) {
        waits_.insert(&op);
        coming.clear();
      }
      if (isAsynchronous(&op) && spaceOf(cast<ir::TransferOp>(op).getTo()) == 0)
        coming.insert(op.getResult(0));
    }
  }
  // Where the processor next waits behind `op`, or the end.
  Operation* nextWait(Operation* op) {
    for (op = op->getNextNode(); !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode())
      if (waits_.contains(op)) break;
    return op;
  }

  // nullopt where the profile does not bound the size.
  std::optional<std::uint64_t> mostBytes(Type type) const {
    auto tensor = ir::tensorType(type);
    std::uint64_t bytes = (tensor.getElementTypeBitWidth() + 7) / 8;
    for (const ir::Dim& dim : ir::shapeOf(tensor)) {
      const auto range = ir::rangeOf(dim, limits_);
      if (!range) return std::nullopt;
      bytes *= static_cast<std::uint64_t>(range->max);
    }
    return bytes;
  }

  struct Place {
    std::uint32_t space;
    std::uint64_t offset;
  };
  Place placeOf(void* key) {
    const auto& [target, index] = places_.at(key);
    const Region& region = regions_[target];
    return {region.space, region.offset + region.plan.offsets[index]};
  }

  ArrayAttr regionsAttr(Builder& b) {
    SmallVector<Attribute> list;
    for (auto& [target, region] : regions_) {
      const auto number = [&](std::uint64_t value) { return ir::toAttribute(b.getContext(), value); };
      NamedAttrList entry;
      ir::region::kTarget.set(entry, b.getStringAttr(target));
      ir::region::kOffset.set(entry, number(region.offset));
      ir::region::kBytes.set(entry, number(region.plan.peak));
      ir::region::kLiveBytes.set(entry, number(memory::plan(region.least).lowerBound));
      ir::region::kTotalBytes.set(entry, number(region.unshared));
      ir::region::kBuffers.set(entry, b.getI64IntegerAttr(region.count));
      if (region.space != 0) ir::region::kSpace.set(entry, number(region.space));
      list.push_back(entry.getDictionary(b.getContext()));
    }
    return b.getArrayAttr(list);
  }

  // --- Code.

  // What extentValue asks for: the symbols that the caller gives.
  void addSymbols() {
    Builder b(main_.getContext());
    for (auto [i, symbol] : llvm::enumerate(ir::symbolsOf(module_)))
      if (symbol.isGiven())
        (void)main_.insertArgument(
            main_.getNumArguments(), b.getIndexType(),
            b.getDictionaryAttr(ir::SymbolAttr::named(b.getI64IntegerAttr(static_cast<std::int64_t>(i)))),
            main_.getLoc());
  }

  Value word(OpBuilder& b, std::uint64_t value) {
    return LLVM::ConstantOp::create(b, main_.getLoc(), b.getI64IntegerAttr(static_cast<std::int64_t>(value)));
  }
  Value slot(OpBuilder& b, Value table, Type type, std::int64_t index) {
    return LLVM::GEPOp::create(b, main_.getLoc(), pointer_, type, table,
                               ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(index)});
  }
  Value field(OpBuilder& b, Value table, std::int64_t index) {
    return LLVM::LoadOp::create(b, main_.getLoc(), pointer_, slot(b, table, pointer_, index));
  }
  Value inArena(OpBuilder& b, const Pointers& pointers, const Place& place) {
    Value arena = pointers[kArena];
    if (place.space != 0) arena = field(b, field(b, pointers[kCallbacks], kArenas), place.space);
    return LLVM::GEPOp::create(b, main_.getLoc(), pointer_, b.getI8Type(), arena,
                               ArrayRef<LLVM::GEPArg>{word(b, place.offset)});
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

  // Where a value lies that is read.
  Value source(OpBuilder& b, Value value, const Pointers& pointers) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return field(b, pointers[kInputs], argument.getArgNumber());
    return inArena(b, pointers, placeOf(value.getAsOpaquePointer()));
  }
  // Where a value is put: to the caller if it is one of the results.
  Value destination(OpBuilder& b, Value value, const Pointers& pointers) {
    if (isReturned(value)) return field(b, pointers[kOutputs], value.use_begin()->getOperandNumber());
    return inArena(b, pointers, placeOf(value.getAsOpaquePointer()));
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

  // The program's result that a partition's becomes, at once or by a transfer.
  static std::optional<unsigned> outputOf(Value value) {
    for (OpOperand& use : value.getUses()) {
      if (isa<func::ReturnOp>(use.getOwner())) return use.getOperandNumber();
      auto transfer = dyn_cast<ir::TransferOp>(use.getOwner());
      if (transfer && transfer.getTo() == ir::kCallerMemory) return outputOf(transfer.getResult());
    }
    return std::nullopt;
  }

  // callbacks->wait(user, space)
  Value wait(OpBuilder& b, const Pointers& pointers, std::uint32_t space) {
    auto type = LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer_, b.getI32Type()});
    return LLVM::CallOp::create(b, main_.getLoc(), type,
                                ValueRange{field(b, pointers[kCallbacks], kWait),
                                           field(b, pointers[kCallbacks], kUser), narrow(b, space)})
        .getResult();
  }
  // callbacks->copy(user, to_space, to, from_space, from, bytes)
  Value copy(OpBuilder& b, ir::TransferOp op, const Pointers& pointers) {
    auto type = LLVM::LLVMFunctionType::get(
        b.getI32Type(), {pointer_, b.getI32Type(), pointer_, b.getI32Type(), pointer_, b.getI64Type()});
    Value to = destination(b, op.getResult(), pointers), from = source(b, op.getInput(), pointers);
    Value bytes = bytesOf(b, op.getType(), pointers[kSymbols]);
    return LLVM::CallOp::create(
               b, main_.getLoc(), type,
               ValueRange{field(b, pointers[kCallbacks], kCopy), field(b, pointers[kCallbacks], kUser),
                          narrow(b, spaceOf(op.getTo())), to, narrow(b, spaceOf(op.getFrom())), from, bytes})
        .getResult();
  }
  Value narrow(OpBuilder& b, std::uint32_t value) {
    return LLVM::ConstantOp::create(b, main_.getLoc(), b.getI32IntegerAttr(static_cast<std::int32_t>(value)));
  }

  // Goes on behind the insertion point if `status` is KILN_RUN_OK, to `stop` if not.
  void check(OpBuilder& b, Value status, Block* stop) {
    const Location loc = main_.getLoc();
    Value ok = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(KILN_RUN_OK));
    Value failed = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, status, ok);
    Block* next = b.createBlock(stop);
    b.setInsertionPointToEnd(next->getPrevNode());
    cf::CondBranchOp::create(b, loc, failed, stop, ValueRange{status}, next, ValueRange{});
    b.setInsertionPointToEnd(next);
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
      if (const auto index = outputOf(result)) {
        std::int64_t before = 0;
        for (Type type : main_.getResultTypes().take_front(*index)) before += ir::tensorType(type).getRank();
        for (std::int64_t i = 0; i < own; ++i) moves.emplace_back(rank + i, before + i);
      }
      Value place = destination(b, result, pointers);
      LLVM::StoreOp::create(b, loc, place, slot(b, outputs, pointer_, result.getResultNumber()));
      rank += own;
    }
    Value extents = table(entry, b.getI64Type(), static_cast<std::size_t>(rank));
    for (auto [from, to] : moves)
      dims.emplace_back(slot(b, extents, b.getI64Type(), from),
                        slot(b, pointers[kOutputDims], b.getI64Type(), to));
    return func::CallOp::create(b, loc, function,
                                ValueRange{pointers[kCallbacks], inArena(b, pointers, placeOf(op)),
                                           pointers[kWeights], inputs, outputs, pointers[kSymbols], extents})
        .getResult(0);
  }

  void addRun() {
    OpBuilder b(main_);
    const Location loc = main_.getLoc();
    const auto type = b.getFunctionType(SmallVector<Type>(kPointers, pointer_), b.getI32Type());
    auto run = func::FuncOp::create(b, loc, "kiln_run_" + std::to_string(profile_), type);
    ir::RegionsAttr::set(run, regionsAttr(b));
    ir::ArenaBytesAttr::set(run, ir::toAttribute(b.getContext(), arenaBytes_.front()));
    if (arenaBytes_.size() > 1)
      ir::DeviceArenaBytesAttr::set(
          run, b.getDenseI64ArrayAttr(SmallVector<std::int64_t>(llvm::drop_begin(arenaBytes_))));
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
      if (waits_.contains(&op))
        for (std::uint32_t space = 1; space <= spaces_.size(); ++space)
          check(b, wait(b, pointers, space), stop);
      if (auto transfer = dyn_cast<ir::TransferOp>(op)) {
        if (isAsynchronous(&op))
          check(b, copy(b, transfer, pointers), stop);
        else
          LLVM::MemcpyOp::create(b, loc, destination(b, transfer.getResult(), pointers),
                                 source(b, transfer.getInput(), pointers),
                                 bytesOf(b, transfer.getType(), pointers[kSymbols]), /*isVolatile=*/false);
        continue;
      }
      SmallVector<std::pair<Value, Value>> dims;
      check(b, call(b, cast<func::CallOp>(op), declare(number++, type), entry, pointers, dims), stop);
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
  llvm::MapVector<StringRef, std::uint32_t> spaces_;           // of the devices
  llvm::SmallPtrSet<Operation*, 4> waits_;                     // looked up only
  std::vector<std::uint64_t> arenaBytes_ = {0};                // by space
};

struct JoinPartitionsPass : impl::JoinPartitionsPassBase<JoinPartitionsPass> {
  explicit JoinPartitionsPass(unsigned profile = 0) : profile(profile) {}
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>(ir::kMain);
    if (!main) {
      getOperation().emitError("expected a function @main");
      return signalPassFailure();
    }
    if (failed(Joiner(getOperation(), main, profile).run())) return signalPassFailure();
    SmallVector<func::FuncOp> partitions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (ir::TargetAttr::isOn(function)) partitions.push_back(function);
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
