// Matrices of few bits per element (kiln.dequantise): in the product that multiplies with them, or by
// themselves where anything else reads them.
#include "compiler_core/ir/packed/packed_ops.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// How the elements of a matrix come out of its codes.
struct Unpacking {
  std::int64_t bits = 8, each = 1;  // of a code; codes of a byte
  Type code;                        // of the graph level
  std::optional<double> zero;       // of all blocks
  Type zeros;                       // of the graph level; null: `zero` stands for them
};

Unpacking unpackingOf(ir::DequantiseOp op) {
  Unpacking made;
  made.bits = static_cast<std::int64_t>(op.getBits());
  made.each = 8 / made.bits;
  made.code = ir::tensorType(op.getCodes()).getElementType();
  if (!op.getZeros()) {
    made.zero = 0;
    return made;
  }
  made.zeros = ir::tensorType(op.getZeros()).getElementType();
  auto constant = op.getZeros().getDefiningOp<ir::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.isSplat()) return made;
  if (made.zeros.isF32())
    made.zero = elements.getSplatValue<APFloat>().convertToDouble();
  else
    made.zero = made.zeros.isUnsignedInteger()
                    ? static_cast<double>(elements.getSplatValue<APInt>().getZExtValue())
                    : static_cast<double>(elements.getSplatValue<APInt>().getSExtValue());
  made.zeros = nullptr;
  return made;
}

// A stored integer of a byte as f32.
Value floatOf(OpBuilder& b, Location loc, Value stored, Type element) {
  const Type i32 = b.getI32Type();
  Value wide = element.isUnsignedInteger() ? arith::ExtUIOp::create(b, loc, i32, stored).getResult()
                                           : arith::ExtSIOp::create(b, loc, i32, stored).getResult();
  return arith::SIToFPOp::create(b, loc, b.getF32Type(), wide);
}

// The elements of the rows that share a byte; `zeros` is null where one stands for all.
SmallVector<Value> elementsOf(OpBuilder& b, Location loc, const Unpacking& how, Value byte, Value scale,
                              Value zeros) {
  Value zero;
  if (zeros) zero = how.zeros.isF32() ? zeros : floatOf(b, loc, zeros, how.zeros);
  if (how.zero && *how.zero != 0) zero = numberOf(b, loc, b.getF32Type(), *how.zero);
  const Type i32 = b.getI32Type();
  auto number = [&](std::int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(i32, value));
  };
  SmallVector<Value> made;
  Value wide = how.each > 1 ? arith::ExtUIOp::create(b, loc, i32, byte).getResult() : Value();
  for (std::int64_t i = 0; i < how.each; ++i) {
    Value element;
    if (how.each == 1) {
      element = floatOf(b, loc, byte, how.code);
    } else {
      Value code = i == 0 ? wide : arith::ShRUIOp::create(b, loc, wide, number(i * how.bits)).getResult();
      if (i + 1 < how.each) code = arith::AndIOp::create(b, loc, code, number((1 << how.bits) - 1));
      element = arith::SIToFPOp::create(b, loc, b.getF32Type(), code);
    }
    if (zero) element = arith::SubFOp::create(b, loc, element, zero);
    made.push_back(arith::MulFOp::create(b, loc, element, scale));
  }
  return made;
}

}  // namespace

ir::DequantiseOp packedFactor(ir::MatmulOp op) {
  Value matrix = op.getRhs();
  if (ir::tensorType(matrix).getRank() != 2) return {};
  if (auto argument = dyn_cast<BlockArgument>(matrix))
    if (auto fused = dyn_cast<ir::FusedOp>(argument.getOwner()->getParentOp()))
      matrix = fused.getInputs()[argument.getArgNumber()];
  return matrix.getDefiningOp<ir::DequantiseOp>();
}

bool isOnlyMultiplied(ir::DequantiseOp op) {
  const auto multiplies = [&](OpOperand& use) {
    auto product = dyn_cast<ir::MatmulOp>(use.getOwner());
    return product && use.getOperandNumber() == 1;
  };
  return llvm::all_of(op.getResult().getUses(), [&](OpOperand& use) {
    auto fused = dyn_cast<ir::FusedOp>(use.getOwner());
    return fused ? llvm::all_of(fused.getBody().front().getArgument(use.getOperandNumber()).getUses(),
                                multiplies)
                 : multiplies(use);
  });
}

Value Lowering::packedProduct(ir::MatmulOp op, ir::DequantiseOp matrix) {
  const Unpacking how = unpackingOf(matrix);
  const auto codes = ir::tensorType(matrix.getCodes());
  const ir::Shape shape = ir::shapeOf(cast<RankedTensorType>(op.getType()));
  const std::int64_t blocks = codes.getDimSize(0), bytes = codes.getDimSize(1);
  Value rows = reshape(get(op.getLhs()), ir::Shape{shape[0], blocks, bytes, how.each});
  // Loops: m, n, then the model's steps as blocks and bytes. A row's steps that share a byte are operands of
  // their own, so that a byte is taken apart once and nothing depends on the place in it.
  auto d = [&](unsigned i) { return b_.getAffineDimExpr(i); };
  auto map = [&](ArrayRef<AffineExpr> dims) { return AffineMap::get(4, 0, dims, b_.getContext()); };
  SmallVector<Value> inputs = {get(matrix.getCodes()), get(matrix.getScales())};
  SmallVector<AffineMap> maps = {map({d(2), d(3), d(1)}), map({d(2), d(1)})};
  if (how.zeros) {
    inputs.push_back(get(matrix.getZeros()));
    maps.push_back(map({d(2), d(1)}));
  }
  const std::size_t first = inputs.size();
  for (std::int64_t i = 0; i < how.each; ++i) {
    inputs.push_back(rows);
    maps.push_back(map({d(0), d(2), d(3), b_.getAffineConstantExpr(i)}));
  }
  maps.push_back(map({d(0), d(1)}));
  return generic(
      inputs, fill(scalar(b_.getF32Type(), 0), shape), maps, 2,
      [&](OpBuilder& b, Location loc, ValueRange v) {
        const SmallVector<Value> elements = elementsOf(b, loc, how, v[0], v[1], how.zeros ? v[2] : Value());
        Value sum = v.back();
        for (auto [i, element] : llvm::enumerate(elements))
          sum = arith::AddFOp::create(b, loc, sum, arith::MulFOp::create(b, loc, v[first + i], element));
        return sum;
      });
}

Value Lowering::dequantise(ir::DequantiseOp op) {
  const Unpacking how = unpackingOf(op);
  const auto codes = ir::tensorType(op.getCodes());
  const std::int64_t blocks = codes.getDimSize(0), bytes = codes.getDimSize(1), columns = codes.getDimSize(2);
  const auto f32 = b_.getF32Type();
  auto d = [&](unsigned i) { return b_.getAffineDimExpr(i); };
  auto map = [&](ArrayRef<AffineExpr> dims) { return AffineMap::get(4, 0, dims, b_.getContext()); };
  SmallVector<Value> inputs = {get(op.getCodes()), get(op.getScales())};
  SmallVector<AffineMap> maps = {map({d(0), d(1), d(3)}), map({d(0), d(3)})};
  if (how.zeros) {
    inputs.push_back(get(op.getZeros()));
    maps.push_back(map({d(0), d(3)}));
  }
  maps.push_back(b_.getMultiDimIdentityMap(4));
  Value made = generic(
      inputs, empty({blocks, bytes, how.each, columns}, f32), maps, 0,
      [&](OpBuilder& b, Location loc, ValueRange v) -> Value {
        const SmallVector<Value> elements = elementsOf(b, loc, how, v[0], v[1], how.zeros ? v[2] : Value());
        if (how.each == 1) return elements[0];
        Value place = linalg::IndexOp::create(b, loc, 2), result = elements[0];
        for (std::int64_t i = 1; i < how.each; ++i) {
          Value here = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, place,
                                             arith::ConstantIndexOp::create(b, loc, i));
          result = arith::SelectOp::create(b, loc, here, elements[static_cast<std::size_t>(i)], result);
        }
        return result;
      });
  return reshape(made, ir::shapeOf(cast<RankedTensorType>(op.getType())));
}

}  // namespace kiln::schedule
