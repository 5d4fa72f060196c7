// Verifiers of operations whose result type is given rather than inferred.
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"

namespace kiln::ir {

using mlir::LogicalResult;
using mlir::success;

LogicalResult ConstantOp::verify() {
  auto bytes = checkedBytes(tensorType(getType()));
  if (!bytes || (*bytes > kMaxConstantBytes && !getValue().isSplat()))
    return emitOpError() << "holds more than " << kMaxConstantBytes << " bytes; use kiln.weight";
  return success();
}

LogicalResult UnaryOp::verify() {
  mlir::Type element = tensorType(getType()).getElementType();
  bool isBool = element.isInteger(1), isFloat = llvm::isa<mlir::FloatType>(element);
  switch (getKind()) {
    case UnaryKind::Not:
      if (!isBool) return emitOpError("not is for i1");
      break;
    case UnaryKind::Neg:
    case UnaryKind::Abs:
    case UnaryKind::Relu:
      if (isBool) return emitOpError() << stringifyUnaryKind(getKind()) << " is for numbers";
      break;
    default:
      if (!isFloat) return emitOpError() << stringifyUnaryKind(getKind()) << " is for floats";
  }
  return success();
}

LogicalResult BinaryOp::verify() {
  mlir::Type element = tensorType(getType()).getElementType();
  bool isBool = element.isInteger(1), isFloat = llvm::isa<mlir::FloatType>(element);
  switch (getKind()) {
    case BinaryKind::And:
    case BinaryKind::Or:
    case BinaryKind::Xor:
      if (isFloat) return emitOpError() << stringifyBinaryKind(getKind()) << " is for i1 and integers";
      break;
    case BinaryKind::Pow:
      if (!isFloat) return emitOpError("pow is for floats");
      break;
    default:
      if (isBool) return emitOpError() << stringifyBinaryKind(getKind()) << " is for numbers";
  }
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto from = tensorType(getInput()).getShape(), to = tensorType(getType()).getShape();
  if (from.size() > to.size()) return emitOpError("lowers the rank");
  for (auto [a, b] : llvm::zip(from, to.take_back(from.size())))
    if (a != b && a != 1) return emitOpError() << "cannot repeat " << a << " to " << b;
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto from = checkedElements(tensorType(getInput()).getShape()),
       to = checkedElements(tensorType(getType()).getShape());
  if (!from || from != to) return emitOpError("changes the number of elements");
  return success();
}

LogicalResult SliceOp::verify() {
  auto from = tensorType(getInput()), to = tensorType(getType());
  auto rank = static_cast<std::size_t>(from.getRank());
  if (getOffsets().size() != rank || getStrides().size() != rank || to.getRank() != from.getRank())
    return emitOpError("needs one offset and one stride per dimension and keeps the rank");
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t offset = getOffsets()[i], stride = getStrides()[i], extent = from.getDimSize(i),
                 count = to.getDimSize(i);
    if (stride == 0) return emitOpError("has a stride of 0");
    if (count == 0) continue;
    std::int64_t room =
        stride > 0 ? extent - 1 - offset : offset;  // distance to the last index that can be reached
    bool inside = offset >= 0 && offset < extent &&
                  (count == 1 || (count - 1) <= room / (stride > 0 ? stride : -stride));
    if (!inside) return emitOpError() << "leaves the input in dimension " << i;
  }
  return success();
}

LogicalResult SoftmaxOp::verify() {
  if (static_cast<std::int64_t>(getAxis()) >= tensorType(getType()).getRank())
    return emitOpError("axis outside the rank");
  return success();
}

LogicalResult BatchNormOp::verify() {
  auto input = tensorType(getInput());
  if (input.getRank() < 2) return emitOpError("needs a channel dimension");
  if (tensorType(getScale()) != mlir::RankedTensorType::get({input.getDimSize(1)}, input.getElementType()))
    return emitOpError("parameters hold one element per channel of the input's element type");
  return success();
}

LogicalResult FusedOp::verify() {
  mlir::Block& body = getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("body arguments differ from the inputs");
  auto yield = body.empty() ? nullptr : llvm::dyn_cast<YieldOp>(body.back());
  if (!yield) return emitOpError("body ends without kiln.yield");
  if (yield.getValues().getTypes() != getResultTypes())
    return emitOpError("body yields other types than the results");
  return success();
}

}  // namespace kiln::ir
