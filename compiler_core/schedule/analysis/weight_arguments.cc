#include "compiler_core/schedule/analysis/weight_arguments.h"

#include "compiler_core/ir/attributes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace kiln::schedule {

using namespace mlir;

BlockArgument weightArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && ir::WeightAttr::isOn(function, argument.getArgNumber()) ? argument : BlockArgument();
}

Value laidOut(BlockArgument weight, const NamedAttrList& attributes, ArrayRef<std::int64_t> shape) {
  auto function = cast<func::FuncOp>(weight.getOwner()->getParentOp());
  const DictionaryAttr wanted = attributes.getDictionary(function.getContext());
  const unsigned index = weight.getArgNumber() + 1;
  for (unsigned i = index; i < function.getNumArguments() && ir::PanelsAttr::isOn(function, i); ++i)
    if (function.getArgAttrDict(i) == wanted) return function.getArgument(i);
  const Type element = cast<MemRefType>(weight.getType()).getElementType();
  (void)function.insertArgument(index, MemRefType::get(shape, element), wanted, weight.getLoc());
  return function.getArgument(index);
}

Value inPanels(BlockArgument weight, std::int64_t lanes, ArrayRef<std::int64_t> permutation) {
  auto function = cast<func::FuncOp>(weight.getOwner()->getParentOp());
  NamedAttrList attributes(function.getArgAttrDict(weight.getArgNumber()));
  Builder b(function.getContext());
  ir::PanelsAttr::set(attributes, b.getI64IntegerAttr(lanes));
  if (!permutation.empty()) {
    // The entry's dimensions may be permuted already.
    auto before = ir::PermutationAttr::in(attributes);
    SmallVector<std::int64_t> whole;
    for (const std::int64_t dim : permutation)
      whole.push_back(before ? before[static_cast<std::size_t>(dim)] : dim);
    ir::PermutationAttr::set(attributes, b.getDenseI64ArrayAttr(whole));
  }
  auto type = cast<MemRefType>(weight.getType());
  const std::int64_t columns = type.getDimSize(permutation.empty() ? type.getRank() - 1 : permutation.back()),
                     rows = type.getNumElements() / columns, panels = llvm::divideCeil(columns, lanes);
  return laidOut(weight, attributes, {panels, rows, lanes});
}

void dropUnusedWeights(func::FuncOp function) {
  SmallVector<Operation*> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation* op) { ops.push_back(op); });
  for (Operation* op : llvm::reverse(ops))
    if (isOpTriviallyDead(op)) op->erase();
  Builder b(function.getContext());
  // At once: each argument by itself makes the function's type and attributes anew.
  llvm::BitVector unused(function.getNumArguments());
  SmallVector<DictionaryAttr> kept;
  std::int64_t slot = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    NamedAttrList attributes(function.getArgAttrDict(i));
    if (ir::WeightAttr::in(attributes)) {
      if (function.getArgument(i).use_empty()) {
        unused.set(i);
        continue;
      }
      ir::WeightAttr::set(attributes, b.getI64IntegerAttr(slot++));
    }
    kept.push_back(attributes.getDictionary(function.getContext()));
  }
  (void)function.eraseArguments(unused);
  if (!kept.empty()) function.setAllArgAttrs(kept);
}

}  // namespace kiln::schedule
