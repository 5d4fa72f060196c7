#include "compiler_core/schedule/strategies/winograd/weights.h"

#include "compiler_core/ir/attributes.h"

namespace kiln::schedule {

using namespace mlir;

Value inWinogradDomain(BlockArgument weight, std::int64_t m, std::int64_t lanes) {
  auto function = cast<func::FuncOp>(weight.getOwner()->getParentOp());
  NamedAttrList attributes(function.getArgAttrDict(weight.getArgNumber()));
  Builder b(function.getContext());
  ir::PanelsAttr::set(attributes, b.getI64IntegerAttr(lanes));
  ir::WinogradAttr::set(attributes, b.getI64IntegerAttr(m));
  auto type = cast<MemRefType>(weight.getType());
  return laidOut(weight, attributes,
                 {type.getDimSize(0) / lanes, (m + 2) * (m + 2), type.getDimSize(1), lanes});
}

}  // namespace kiln::schedule
