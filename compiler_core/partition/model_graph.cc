#include "compiler_core/partition/model_graph.h"

#include "compiler_core/ir/types.h"
#include "compiler_core/partition/cost.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Transforms/RegionUtils.h"

namespace kiln::partition {

using namespace mlir;

bool isSource(Operation* op) {
  if (isa<ir::WeightOp, ir::ConstantOp, ir::ShapeValueOp, ir::IotaOp>(op)) return true;
  if (!isa<ir::TransposeOp, ir::BroadcastOp, ir::ReshapeOp>(op)) return false;
  Operation* from = op->getOperand(0).getDefiningOp();
  return from && isSource(from);
}

SmallVector<Value> inputsOf(Operation* op) {
  llvm::SetVector<Value> values;
  values.insert_range(op->getOperands());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return SmallVector<Value>(values.getArrayRef());
}

std::vector<std::string> namesOf(Operation* op) {
  std::vector<std::string> names;
  llvm::StringSet<> seen;
  op->walk<WalkOrder::PreOrder>([&](Operation* inner) {
    // Groups have the names of what is inside; weights and constants are no nodes.
    if (isa<ir::FusedOp, ir::WeightOp, ir::ConstantOp>(inner)) return;
    for (std::string& name : ir::nodeNames(inner->getLoc()))
      if (seen.insert(name).second) names.push_back(std::move(name));
  });
  return names;
}

ModelGraph graphOf(func::FuncOp main) {
  ModelGraph out;
  llvm::DenseMap<Operation*, std::uint32_t> numbers;
  llvm::MapVector<Value, GraphValue> values;
  for (Operation& op : main.front().without_terminator()) {
    if (isSource(&op)) continue;
    const auto number = static_cast<std::uint32_t>(out.operations.size());
    numbers[&op] = number;
    out.operations.push_back(&op);
    for (Value input : inputsOf(&op)) {
      const auto from = numbers.find(input.getDefiningOp());
      if (!input.getDefiningOp() || from == numbers.end()) continue;
      GraphValue& value = values[input];
      value.from = from->second;
      value.users.push_back(number);
      value.transferCost = transferTime(optBytes(input.getType(), main));
    }
  }
  out.graph.nodes.resize(out.operations.size());
  for (auto& [key, value] : values) out.graph.values.push_back(std::move(value));
  return out;
}

}  // namespace kiln::partition
