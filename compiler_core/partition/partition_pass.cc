#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/partition/partition_ops.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/partition/model_graph.h"
#include "compiler_core/partition/partition.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

namespace kiln::partition {

#define GEN_PASS_DEF_PARTITIONPASS
#include "compiler_core/partition/passes.h.inc"

namespace {

using namespace mlir;

struct Segment {
  std::string target;
  SmallVector<Operation*> operations;
  llvm::SetVector<Value> inputs;  // of other segments or of @main
  // Results, each for one purpose: values that other segments use, then results of @main.
  SmallVector<Value> kept;
  SmallVector<std::pair<Value, unsigned>> returned;
};

class Cutter {
 public:
  explicit Cutter(func::FuncOp main) : main_(main) {}

  LogicalResult run() {
    if (failed(makeSegments())) return failure();
    // A device has a memory of its own: what it reads and makes is transferred.
    if (segments_.size() < 2 && !(segments_.size() == 1 && ir::isOnDevice(segments_.front().target))) {
      for (Operation& op : main_.front()) ir::TargetAttr::remove(&op);
      return success();
    }
    connect();
    if (failed(checkSizes())) return failure();
    rewrite();
    return success();
  }

 private:
  LogicalResult makeSegments() {
    const ModelGraph model = graphOf(main_);
    llvm::MapVector<StringRef, TargetIndex> numbers;
    std::vector<TargetIndex> targets;
    for (Operation* op : model.operations) {
      auto target = ir::TargetAttr::get(op);
      const StringRef name = target ? target.getValue() : StringRef();
      targets.push_back(numbers.try_emplace(name, static_cast<TargetIndex>(numbers.size())).first->second);
    }
    if (numbers.size() > 1 && numbers.contains(StringRef()))
      return main_.emitError("some operations have no kiln.target, others have one");
    for (const auto& run : segments(model.graph, targets)) {
      Segment& segment = segments_.emplace_back();
      segment.target = (numbers.begin() + targets[run.front()])->first.str();
      for (const std::uint32_t number : run) {
        segment.operations.push_back(model.operations[number]);
        for (Value result : model.operations[number]->getResults()) homes_[result] = segments_.size() - 1;
      }
    }
    return success();
  }

  // What a segment uses, behind its copies of sources.
  void addInput(Segment& segment, std::size_t number, Value value) {
    if (Operation* op = value.getDefiningOp(); op && isSource(op)) {
      for (Value operand : op->getOperands()) addInput(segment, number, operand);
      return;
    }
    const auto home = homes_.find(value);
    if (home != homes_.end() && home->second == number) return;
    segment.inputs.insert(value);
    if (home != homes_.end() && !llvm::is_contained(segments_[home->second].kept, value))
      segments_[home->second].kept.push_back(value);
  }

  void connect() {
    for (auto [number, segment] : llvm::enumerate(segments_))
      for (Operation* op : segment.operations)
        for (Value value : inputsOf(op)) addInput(segment, number, value);
    // What no segment makes (an input, a constant) is handed through by the last one.
    for (auto [index, value] : llvm::enumerate(main_.front().getTerminator()->getOperands())) {
      const auto home = homes_.find(value);
      const std::size_t number = home == homes_.end() ? segments_.size() - 1 : home->second;
      addInput(segments_[number], number, value);
      segments_[number].returned.emplace_back(value, static_cast<unsigned>(index));
    }
  }

  // A size that the program finds out is known in one segment only.
  LogicalResult checkSizes() {
    const auto symbols = ir::symbolsOf(main_->getParentOfType<ModuleOp>());
    for (Segment& segment : segments_) {
      llvm::SmallDenseSet<std::int64_t> found;
      for (Operation* op : segment.operations)
        op->walk([&](ir::TruncateOp truncate) { found.insert(truncate.getSymbol()); });
      for (Operation* op : segment.operations) {
        const auto unknown = [&](Value value) {
          auto tensor = dyn_cast<RankedTensorType>(value.getType());
          if (!tensor) return false;
          return llvm::any_of(ir::shapeOf(tensor), [&](const ir::Dim& dim) {
            if (dim.isStatic()) return false;
            return llvm::any_of(ir::symbolsIn(dim.expression(main_.getContext())), [&](unsigned symbol) {
              return symbol < symbols.size() && !symbols[symbol].isGiven() && !found.contains(symbol);
            });
          });
        };
        if (llvm::any_of(inputsOf(op), unknown) || llvm::any_of(op->getResults(), unknown))
          return op->emitError("node '" + ir::nodeName(op->getLoc()) +
                               "' has a size that depends on values of another partition; keep both on one "
                               "target by an affinity");
      }
    }
    return success();
  }

  Value clone(OpBuilder& builder, Value value, IRMapping& map) {
    if (map.contains(value)) return map.lookup(value);
    Operation* op = value.getDefiningOp();
    for (Value operand : op->getOperands()) clone(builder, operand, map);
    builder.clone(*op, map);
    return map.lookup(value);
  }

  func::FuncOp makeFunction(const Segment& segment, std::size_t number) {
    OpBuilder builder(main_->getContext());
    builder.setInsertionPointAfter(last_ ? last_ : main_.getOperation());
    SmallVector<Type> inputs, results;
    for (Value value : segment.inputs) inputs.push_back(value.getType());
    for (Value value : segment.kept) results.push_back(value.getType());
    for (const auto& [value, index] : segment.returned) results.push_back(value.getType());
    auto function = func::FuncOp::create(builder, main_.getLoc(), "partition_" + std::to_string(number),
                                         builder.getFunctionType(inputs, results));
    function.setPrivate();
    ir::TargetAttr::set(function, builder.getStringAttr(segment.target));
    if (auto profile = ir::ProfileAttr::get(main_)) ir::ProfileAttr::set(function, profile);
    Block* body = function.addEntryBlock();
    builder.setInsertionPointToStart(body);
    IRMapping map;
    for (auto [value, argument] : llvm::zip_equal(segment.inputs, body->getArguments()))
      map.map(value, argument);
    for (Operation* op : segment.operations) {
      for (Value value : inputsOf(op)) clone(builder, value, map);
      ir::TargetAttr::remove(builder.clone(*op, map));
    }
    SmallVector<Value> returned;
    for (Value value : segment.kept) returned.push_back(map.lookup(value));
    for (const auto& [value, index] : segment.returned) returned.push_back(clone(builder, value, map));
    func::ReturnOp::create(builder, main_.getLoc(), returned);
    last_ = function;
    return function;
  }

  // The value in the memory of `target`, transferred once.
  Value bring(OpBuilder& builder, Value value, const std::string& target) {
    const auto home = homes_.find(value);
    // An input of @main is in the caller's memory, which every processor's target reads.
    const bool isInput = home == homes_.end();
    if (isInput && !ir::isOnDevice(target)) return value;
    Value made = isInput ? value : results_.lookup(value);
    const std::string from = isInput ? ir::kCallerMemory.str() : segments_[home->second].target;
    if (from == target) return made;
    auto [copy, isNew] = copies_.try_emplace({value, builder.getStringAttr(target)});
    if (isNew)
      copy->second = ir::TransferOp::create(builder, value.getLoc(), made.getType(), made, from, target);
    return copy->second;
  }

  void rewrite() {
    Operation* terminator = main_.front().getTerminator();
    OpBuilder builder(terminator);
    SmallVector<Value> outputs(terminator->getNumOperands());
    for (auto [number, segment] : llvm::enumerate(segments_)) {
      auto function = makeFunction(segment, number);
      SmallVector<Value> operands;
      for (Value value : segment.inputs) operands.push_back(bring(builder, value, segment.target));
      auto call = func::CallOp::create(builder, main_.getLoc(), function, operands);
      for (auto [i, value] : llvm::enumerate(segment.kept)) results_[value] = call.getResult(i);
      for (auto [i, value] : llvm::enumerate(segment.returned)) {
        Value result = call.getResult(segment.kept.size() + i);
        if (ir::isOnDevice(segment.target))
          result = ir::TransferOp::create(builder, value.first.getLoc(), result.getType(), result,
                                          segment.target, ir::kCallerMemory);
        outputs[value.second] = result;
      }
    }
    terminator->setOperands(outputs);
    for (Operation& op : llvm::make_early_inc_range(llvm::reverse(main_.front())))
      if (!isa<func::CallOp, func::ReturnOp, ir::TransferOp>(op)) op.erase();
  }

  func::FuncOp main_;
  std::vector<Segment> segments_;
  llvm::DenseMap<Value, std::size_t> homes_;  // the segment that makes a value
  llvm::DenseMap<Value, Value> results_;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> copies_;  // by the target that has the copy
  Operation* last_ = nullptr;
};

struct PartitionPass : impl::PartitionPassBase<PartitionPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>(ir::kMain);
    if (!main || main.isExternal() || !main.getBody().hasOneBlock()) {
      getOperation().emitError("expected a function @main with one block");
      return signalPassFailure();
    }
    if (failed(Cutter(main).run())) signalPassFailure();
  }
};

}  // namespace

}  // namespace kiln::partition
