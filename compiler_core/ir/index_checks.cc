#include "compiler_core/ir/index_checks.h"

#include "compiler_core/ir/attributes.h"
#include "llvm/ADT/StringMap.h"

namespace kiln::ir {

using namespace mlir;

namespace {

// Replaces the last `removed` results of @main by `value`, which counts the nodes of `names`.
void setLastResult(func::FuncOp main, unsigned removed, Value value, ArrayRef<std::string> names) {
  Operation* end = main.front().getTerminator();
  SmallVector<Value> results(end->getOperands().drop_back(removed));
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < results.size(); ++i) attributes.push_back(main.getResultAttrDict(i));
  Builder b(main.getContext());
  SmallVector<StringRef> texts(names.begin(), names.end());
  attributes.push_back(b.getDictionaryAttr(IndexChecksAttr::named(b.getStrArrayAttr(texts))));
  results.push_back(value);
  end->setOperands(results);
  main.setFunctionType(
      FunctionType::get(main.getContext(), main.getArgumentTypes(), TypeRange(ValueRange(results))));
  main.setAllResultAttrs(attributes);
}

// What `own` counts, laid out as `all` has it. One more count, which is 0, stands for those it lacks.
void widen(func::FuncOp main, ArrayRef<std::string> own, ArrayRef<std::string> all) {
  Operation* end = main.front().getTerminator();
  OpBuilder b(end);
  const Location loc = b.getUnknownLoc();
  const Type i64 = b.getI64Type();
  auto constant = [&](ArrayRef<std::int64_t> values) -> Value {
    auto type = RankedTensorType::get({static_cast<std::int64_t>(values.size())}, i64);
    return ConstantOp::create(b, loc, type, DenseElementsAttr::get(type, values));
  };
  SmallVector<std::int64_t> places;
  for (const std::string& name : all) places.push_back(llvm::find(own, name) - own.begin());
  Value counts = constant({0});
  if (!own.empty()) {
    auto type = RankedTensorType::get({static_cast<std::int64_t>(own.size()) + 1}, i64);
    Value given = end->getOperands().back();
    counts = ConcatOp::create(b, loc, type, ValueRange{given, counts}, 0);
  }
  auto type = RankedTensorType::get({static_cast<std::int64_t>(all.size())}, i64);
  counts = GatherOp::create(b, loc, type, counts, constant(places), 0);
  setLastResult(main, own.empty() ? 0 : 1, counts, all);
}

void addAll(Operation* end, OperandRange::iterator from, OperandRange::iterator to,
            llvm::SmallPtrSet<Operation*, 8>& found) {
  SmallVector<Operation*> open;
  auto take = [&](Value value) {
    if (Operation* op = value.getDefiningOp();
        op && op->getBlock() == end->getBlock() && found.insert(op).second)
      open.push_back(op);
  };
  for (auto it = from; it != to; ++it) take(*it);
  while (!open.empty()) {
    Operation* op = open.pop_back_val();
    // What its bodies read counts too.
    op->walk([&](Operation* inner) { llvm::for_each(inner->getOperands(), take); });
  }
}

}  // namespace

std::vector<std::string> indexChecksOf(func::FuncOp main) {
  std::vector<std::string> names;
  if (main.getNumResults() == 0) return names;
  auto given = IndexChecksAttr::ofResult(main, main.getNumResults() - 1);
  if (!given) return names;
  for (auto name : given.getAsRange<StringAttr>()) names.push_back(name.str());
  return names;
}

void addIndexChecks(func::FuncOp main, Value counts, ArrayRef<std::string> nodes) {
  setLastResult(main, 0, counts, nodes);
}

void alignIndexChecks(ArrayRef<ModuleOp> modules) {
  std::vector<std::string> all;
  for (ModuleOp module : modules)
    for (std::string& name : indexChecksOf(module.lookupSymbol<func::FuncOp>(kMain)))
      if (!llvm::is_contained(all, name)) all.push_back(std::move(name));
  for (ModuleOp module : modules) {
    auto main = module.lookupSymbol<func::FuncOp>(kMain);
    const std::vector<std::string> own = indexChecksOf(main);
    if (own != all) widen(main, own, all);
  }
}

llvm::SmallPtrSet<Operation*, 8> countersOf(func::FuncOp main) {
  llvm::SmallPtrSet<Operation*, 8> counters, others;
  if (!main || indexChecksOf(main).empty()) return counters;
  Operation* end = main.front().getTerminator();
  auto operands = end->getOperands();
  addAll(end, operands.begin(), std::prev(operands.end()), others);
  addAll(end, std::prev(operands.end()), operands.end(), counters);
  for (Operation* op : others) counters.erase(op);
  return counters;
}

}  // namespace kiln::ir
