#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_FORMGROUPSPASS
#include "compiler_core/transforms/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

bool isElementwise(Operation* op) {
  return llvm::isa<ir::UnaryOp, ir::BinaryOp, ir::CompareOp, ir::SelectOp, ir::CastOp>(op);
}
bool isAnchor(Operation* op) {
  return llvm::isa<ir::ConvOp, ir::MatmulOp, ir::PoolOp, ir::ReduceOp>(op);
}
// The end of a quantisation: a quarter of what it came from, to be stored and read again.
bool makesBytes(Operation* op) {
  auto cast = llvm::dyn_cast<ir::CastOp>(op);
  return cast && llvm::isa<mlir::FloatType>(ir::tensorType(cast.getInput()).getElementType()) &&
         ir::tensorType(cast.getResult()).getElementType().isInteger(8);
}
// Cheap to repeat: each group gets its own copy.
bool isCopied(Operation* op) {
  return op && llvm::isa<ir::BroadcastOp, ir::ConstantOp>(op);
}

// A kernel gains nothing from more, and fusing takes the square of it.
constexpr std::size_t kMaxMembers = 64;

// Every member but the last has all its users inside, so a group depends on the outside only through its
// inputs and the outside on it only through its last member: groups can never form a cycle.
struct Group {
  llvm::SmallVector<Operation*> members;  // last first
  Operation* anchor = nullptr;
};

class Grouping {
 public:
  explicit Grouping(mlir::Block& block) : block_(block) {}

  void run() {
    for (Operation& op : llvm::reverse(block_.without_terminator()))
      if (isElementwise(&op) || isAnchor(&op)) place(&op);
    for (Group& group : llvm::reverse(groups_)) materialise(group);
  }

 private:
  // Into the group of all its users, if there is one that can take it; else it ends a group of its own.
  void place(Operation* op) {
    std::optional<std::size_t> target;
    bool joins = true;
    for (Operation* user : op->getUsers()) {
      auto it = groupOf_.find(user);
      // The operands of an anchor are left in memory: schedules want them there.
      joins &= isElementwise(user) && it != groupOf_.end() && (!target || *target == it->second);
      if (it != groupOf_.end()) target = it->second;
    }
    if (joins && target && isAnchor(op) && groups_[*target].anchor) {
      target = partedAtBytes(op, *target);
      joins = target.has_value();
    }
    if (!joins || !target || groups_[*target].members.size() >= kMaxMembers) {
      target = groups_.size();
      groups_.emplace_back();
    }
    Group& group = groups_[*target];
    group.members.push_back(op);
    if (isAnchor(op)) group.anchor = op;
    groupOf_[op] = *target;
  }

  // Of two anchors one group cannot be made, but one may end where what follows it is quantised: what lies
  // between `anchor`, the earlier one, and that moves from the group `from` to one of its own, whose number
  // is returned. None where the anchor's results go elsewhere as well.
  std::optional<std::size_t> partedAtBytes(Operation* anchor, std::size_t from) {
    llvm::SetVector<Operation*> behind(anchor->user_begin(), anchor->user_end());
    Operation* last = nullptr;
    for (std::size_t i = 0; i < behind.size(); ++i) {
      Operation* op = behind[i];
      const auto it = groupOf_.find(op);
      if (it == groupOf_.end() || it->second != from || op == groups_[from].anchor) return std::nullopt;
      if (!makesBytes(op))
        behind.insert(op->user_begin(), op->user_end());
      else if (std::exchange(last, op))
        return std::nullopt;
    }
    if (!last || last == groups_[from].members.front()) return std::nullopt;
    // What made their other operands would lose its users from its group.
    for (Operation* op : behind)
      for (Value operand : op->getOperands())
        if (Operation* producer = operand.getDefiningOp(); producer && producer != anchor)
          if (groupOf_.contains(producer) && !behind.contains(producer)) return std::nullopt;
    Group own;
    for (Operation* op : groups_[from].members)
      if (behind.contains(op)) own.members.push_back(op);
    llvm::erase_if(groups_[from].members, [&](Operation* op) { return behind.contains(op); });
    for (Operation* op : own.members) groupOf_[op] = groups_.size();
    groups_.push_back(std::move(own));
    return groups_.size() - 1;
  }

  void materialise(Group& group) {
    llvm::SmallVector<Operation*> members(llvm::reverse(group.members));
    llvm::SmallVector<Value> inputs;
    llvm::SmallVector<Operation*> copies;
    auto need = [&](Value value, bool copy, auto& self) -> void {
      Operation* producer = value.getDefiningOp();
      if (producer && llvm::is_contained(members, producer)) return;
      if (copy && isCopied(producer)) {
        if (llvm::is_contained(copies, producer)) return;
        for (Value operand : producer->getOperands()) self(operand, copy, self);
        copies.push_back(producer);
      } else if (!llvm::is_contained(inputs, value)) {
        inputs.push_back(value);
      }
    };
    for (Operation* member : members)
      for (Value operand : member->getOperands()) need(operand, isElementwise(member), need);
    std::size_t calculations =
        members.size() + llvm::count_if(copies, [](Operation* op) { return llvm::isa<ir::BroadcastOp>(op); });
    if (calculations < 2) return;

    Operation* last = members.back();
    llvm::SmallVector<mlir::Location> locations;
    for (Operation* member : members) locations.push_back(member->getLoc());
    mlir::OpBuilder builder(last);
    auto fused = ir::FusedOp::create(builder, builder.getFusedLoc(locations), last->getResultTypes(), inputs);
    mlir::Block& body = fused.getBody().emplaceBlock();
    mlir::IRMapping mapping;
    for (Value input : inputs) mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
    builder.setInsertionPointToEnd(&body);
    for (Operation* copy : copies) builder.clone(*copy, mapping);
    for (Operation* member : members) builder.clone(*member, mapping);
    ir::YieldOp::create(builder, last->getLoc(), mapping.lookup(last->getResult(0)));
    last->replaceAllUsesWith(fused.getResults());
    for (Operation* member : group.members) member->erase();
    for (Operation* copy : llvm::reverse(copies))
      if (copy->use_empty()) copy->erase();
  }

  mlir::Block& block_;
  std::vector<Group> groups_;
  llvm::DenseMap<Operation*, std::size_t> groupOf_;  // looked up only, never iterated
};

class FormGroups : public impl::FormGroupsPassBase<FormGroups> {
 public:
  void runOnOperation() final {
    llvm::SmallVector<mlir::Block*> blocks;  // those of functions and of control flow
    getOperation()->walk([&](mlir::Block* block) {
      if (!llvm::isa<ir::FusedOp>(block->getParentOp())) blocks.push_back(block);
    });
    for (mlir::Block* block : blocks) Grouping(*block).run();
  }
};

}  // namespace

}  // namespace kiln::transforms
