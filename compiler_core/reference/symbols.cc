#include "compiler_core/reference/symbols.h"

#include <algorithm>

#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/types.h"

namespace kiln::reference {

mlir::OwningOpRef<mlir::ModuleOp> cloneIfSymbolic(mlir::ModuleOp module) {
  const auto found = module.walk([](mlir::Operation* op) {
    return llvm::any_of(op->getResultTypes(),
                        [](mlir::Type type) {
                          auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
                          return tensor && !tensor.hasStaticShape();
                        })
               ? mlir::WalkResult::interrupt()
               : mlir::WalkResult::advance();
  });
  if (!found.wasInterrupted()) return {};
  return module.clone();
}

void SymbolValues::bind(ir::TruncateOp truncate, const HostTensor& input, const HostTensor& count) {
  const std::size_t symbol = truncate.getSymbol();
  if (symbol >= values_.size()) values_.resize(symbol + 1);
  values_[symbol] = std::clamp<std::int64_t>(*count.data<std::int64_t>(), 0, input.shape[truncate.getAxis()]);
}

void SymbolValues::resolve(mlir::Operation& operation) const {
  auto substituted = [&](mlir::AffineMap map) {
    ir::Shape shape;
    for (mlir::AffineExpr expression : map.getResults())
      shape.push_back(ir::substitute(ir::Dim(expression), values_));
    return shape;
  };
  for (mlir::OpResult result : operation.getResults()) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(result.getType());
    if (!type || type.hasStaticShape()) continue;
    auto map = llvm::cast<mlir::AffineMapAttr>(type.getEncoding()).getValue();
    result.setType(ir::tensorTypeOf(substituted(map), type.getElementType()));
  }
  if (auto slice = llvm::dyn_cast<ir::SliceOp>(operation))
    if (auto symbolic = slice.getSymbolicOffsets())
      if (const ir::Shape from = substituted(*symbolic); ir::isStatic(from)) {
        slice.setOffsets(ir::numbers(from));
        slice.removeSymbolicOffsetsAttr();
      }
  if (auto extents = llvm::dyn_cast<ir::ShapeValueOp>(operation))
    extents.setValues(ir::symbolicMap(operation.getContext(), substituted(extents.getValues())));
}

}  // namespace kiln::reference
