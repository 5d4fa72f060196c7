// Verifiers of operations whose result type is given rather than inferred.
#include "compiler_core/ir/dims.h"
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

namespace {

// 8- and 4-bit floats and integers below a byte only move and are cast.
bool hasArithmetic(mlir::Type element) {
  const unsigned width = element.getIntOrFloatBitWidth();
  return llvm::isa<mlir::FloatType>(element) ? width >= 16 : width >= 8 || width == 1;
}

}  // namespace

LogicalResult UnaryOp::verify() {
  mlir::Type element = tensorType(getType()).getElementType();
  if (!hasArithmetic(element)) return emitOpError() << "there is no arithmetic on " << element;
  bool isBool = element.isInteger(1), isFloat = llvm::isa<mlir::FloatType>(element);
  switch (getKind()) {
    case UnaryKind::Not:
      if (isFloat) return emitOpError("not is for bool and integers");
      break;
    case UnaryKind::Sign:
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
  if (!hasArithmetic(element)) return emitOpError() << "there is no arithmetic on " << element;
  bool isBool = element.isInteger(1), isFloat = llvm::isa<mlir::FloatType>(element);
  switch (getKind()) {
    case BinaryKind::And:
    case BinaryKind::Or:
    case BinaryKind::Xor:
      if (isFloat) return emitOpError() << stringifyBinaryKind(getKind()) << " is for bool and integers";
      break;
    case BinaryKind::Shl:
    case BinaryKind::Shr:
      if (isFloat || isBool) return emitOpError() << stringifyBinaryKind(getKind()) << " is for integers";
      break;
    default:
      if (isBool) return emitOpError() << stringifyBinaryKind(getKind()) << " is for numbers";
  }
  return success();
}

LogicalResult BitcastOp::verify() {
  auto from = tensorType(getInput()).getElementType(), to = tensorType(getType()).getElementType();
  if (from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return emitOpError("needs element types of one width");
  return success();
}

LogicalResult IotaOp::verify() {
  if (static_cast<std::int64_t>(getAxis()) >= tensorType(getType()).getRank())
    return emitOpError("axis outside the rank");
  return success();
}

LogicalResult ShapeValueOp::verify() {
  auto type = tensorType(getType());
  if (getValues().getNumDims() != 0 || type.getRank() != 1 ||
      type.getDimSize(0) != getValues().getNumResults())
    return emitOpError("needs one expression over symbols per element of a rank-1 result");
  return success();
}

LogicalResult BroadcastOp::verify() {
  const Shape from = shapeOf(tensorType(getInput())), to = shapeOf(tensorType(getType()));
  if (from.size() > to.size()) return emitOpError("lowers the rank");
  for (auto [a, b] : llvm::zip(from, llvm::ArrayRef(to).take_back(from.size())))
    if (!(a == b) && !(a == Dim(1)))
      return emitOpError() << "cannot repeat " << inDiagnostic(getContext(), a) << " to "
                           << inDiagnostic(getContext(), b);
  return success();
}

LogicalResult ReshapeOp::verify() {
  const Shape from = shapeOf(tensorType(getInput())), to = shapeOf(tensorType(getType()));
  if (isStatic(from) && isStatic(to)) {
    auto count = checkedElements(numbers(from));
    if (!count || count != checkedElements(numbers(to))) return emitOpError("changes the number of elements");
  } else if (!(product(from) == product(to))) {
    return emitOpError() << "cannot be shown to keep the number of elements: "
                         << inDiagnostic(getContext(), product(from)) << " and "
                         << inDiagnostic(getContext(), product(to));
  }
  return success();
}

LogicalResult SliceOp::verify() {
  auto from = tensorType(getInput()), to = tensorType(getType());
  auto rank = static_cast<std::size_t>(from.getRank());
  if (getOffsets().size() != rank || getStrides().size() != rank || to.getRank() != from.getRank())
    return emitOpError("needs one offset and one stride per dimension and keeps the rank");
  if (auto symbolic = getSymbolicOffsets())
    if (symbolic->getNumDims() != 0 || symbolic->getNumResults() != rank)
      return emitOpError("needs one symbolic offset per dimension");
  for (std::size_t i = 0; i < rank; ++i) {
    if (getStrides()[i] == 0) return emitOpError("has a stride of 0");
    // What depends on symbols was shown to be inside by whoever made the operation.
    if (from.isDynamicDim(i) || to.isDynamicDim(i) || getSymbolicOffsets()) continue;
    std::int64_t offset = getOffsets()[i], stride = getStrides()[i], extent = from.getDimSize(i),
                 count = to.getDimSize(i);
    if (count == 0) continue;
    std::int64_t room =
        stride > 0 ? extent - 1 - offset : offset;  // distance to the last index that can be reached
    bool inside = offset >= 0 && offset < extent &&
                  (count == 1 || (count - 1) <= room / (stride > 0 ? stride : -stride));
    if (!inside) return emitOpError() << "leaves the input in dimension " << i;
  }
  return success();
}

LogicalResult TruncateOp::verify() {
  Shape shape = shapeOf(tensorType(getInput()));
  if (getAxis() >= shape.size()) return emitOpError("axis outside the rank");
  if (tensorType(getCount()).getRank() != 0) return emitOpError("the count is a scalar");
  shape[getAxis()] = Dim::symbol(getContext(), static_cast<unsigned>(getSymbol()));
  if (tensorTypeOf(shape, tensorType(getInput()).getElementType()) != tensorType(getType()))
    return emitOpError("the result's dimension is the symbol, the others are the input's");
  return success();
}

LogicalResult ScatterOp::verify() {
  const Shape data = shapeOf(tensorType(getData())), indices = shapeOf(tensorType(getIndices()));
  Shape updates = shapeOf(tensorType(getUpdates()));
  if (data.empty() || indices.size() != 1 || updates.size() != data.size())
    return emitOpError("needs data [R, S...], indices [N] and updates [N, S...]");
  if (tensorType(getUpdates()).getElementType() != tensorType(getData()).getElementType())
    return emitOpError("updates have another element type than the data");
  if (!(updates[0] == indices[0]) || !std::equal(updates.begin() + 1, updates.end(), data.begin() + 1))
    return emitOpError("updates do not fit the data and the indices");
  const mlir::Type element = tensorType(getData()).getElementType();
  if (getKind() != ScatterKind::Set && (element.isInteger(1) || !hasArithmetic(element)))
    return emitOpError("combines numbers only");
  return success();
}

LogicalResult CumulativeOp::verify() {
  if (static_cast<std::int64_t>(getAxis()) >= tensorType(getType()).getRank())
    return emitOpError("axis outside the rank");
  if (getKind() != ReduceKind::Sum && getKind() != ReduceKind::Prod)
    return emitOpError("kind is sum or prod");
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
  if (input.isDynamicDim(1)) return emitOpError("the number of channels must be known");
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

namespace {

// A body of one block that yields `types`.
LogicalResult verifyBody(mlir::Operation* op, mlir::Block& body, mlir::TypeRange types) {
  auto yield = body.empty() ? nullptr : llvm::dyn_cast<YieldOp>(body.back());
  if (!yield) return op->emitOpError("body ends without kiln.yield");
  if (mlir::TypeRange(yield.getValues()) != types)
    return op->emitOpError("body yields other types than asked for");
  return success();
}

bool isScalar(mlir::Value value) {
  return tensorType(value).getRank() == 0;
}

}  // namespace

LogicalResult IfOp::verify() {
  if (!isScalar(getCondition())) return emitOpError("the condition is a scalar");
  for (mlir::Region* region : {&getThenBody(), &getElseBody()}) {
    if (region->front().getNumArguments() != 0) return emitOpError("bodies have no arguments");
    if (failed(verifyBody(*this, region->front(), getResultTypes()))) return mlir::failure();
  }
  return success();
}

LogicalResult LoopOp::verify() {
  if (!getTrip() && !getCondition()) return emitOpError("needs a trip count or a condition");
  for (mlir::Value limit : {getTrip(), getCondition()})
    if (limit && !isScalar(limit)) return emitOpError("trip count and condition are scalars");
  const mlir::Type count = mlir::RankedTensorType::get({}, mlir::IntegerType::get(getContext(), 64));
  llvm::SmallVector<mlir::Type> carried(getCarried().getTypes()), arguments{count}, results(carried), yielded;
  arguments.append(carried);
  results.push_back(count);
  if (getCondition()) yielded.push_back(getCondition().getType());
  yielded.append(carried);
  if (getBody().front().getArgumentTypes() != mlir::TypeRange(arguments))
    return emitOpError("body arguments are the iteration number and the carried values");
  if (getResultTypes() != mlir::TypeRange(results))
    return emitOpError("results are the carried values and the number of iterations");
  return verifyBody(*this, getBody().front(), yielded);
}

LogicalResult CallOp::verify() {
  if (getNumResults() != 0 && getResultTypes() != getInits().getTypes())
    return emitOpError("results have the types of the inits");
  for (std::int64_t position : getReadsInit())
    if (position < 0 || position >= static_cast<std::int64_t>(getInits().size()))
      return emitOpError("reads an init that is not there");
  return success();
}

void CallOp::getEffects(
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>& effects) {
  for (mlir::OpOperand& operand : getOperation()->getOpOperands()) {
    if (!llvm::isa<mlir::MemRefType>(operand.get().getType())) continue;
    effects.emplace_back(mlir::MemoryEffects::Read::get(), &operand);
    if (operand.getOperandNumber() >= getInputs().size())
      effects.emplace_back(mlir::MemoryEffects::Write::get(), &operand);
  }
}

}  // namespace kiln::ir
