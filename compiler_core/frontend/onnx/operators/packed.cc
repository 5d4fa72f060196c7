#include "compiler_core/frontend/onnx/operators/packed.h"

#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/graph/packed_builder.h"

namespace kiln::onnx {
namespace {

// Bits of a code that may stay packed; 0: none does.
std::int64_t bitsOf(mlir::Type element) {
  auto type = llvm::dyn_cast<mlir::IntegerType>(element);
  const unsigned width = type ? type.getWidth() : 0;
  return width == 2 || width == 4 || width == 8 ? width : 0;
}

bool isConstant(Value value) {
  return llvm::isa_and_nonnull<ir::ConstantOp, ir::WeightOp>(value.getDefiningOp());
}

// Codes below a byte as unsigned ones: signed ones begin at half of their range.
Term unsignedCodes(NodeContext& node, Value codes, std::int64_t bits) {
  const mlir::Type u8 = ir::elementType(node.context(), DType::kU8),
                   i8 = mlir::IntegerType::get(node.context(), 8);
  const Term given(node, codes);
  if (elementOf(codes).isUnsignedInteger()) return given.cast(u8);
  return (given.cast(i8) + static_cast<double>(1 << (bits - 1))).cast(u8);
}

// Codes [blocks, rows, columns] of which `each` rows share a byte.
Term packedRows(NodeContext& node, const Term& codes, std::int64_t each, std::int64_t bits) {
  if (!codes.ok() || each == 1) return codes;
  const Shape shape = codes.shape();
  const std::int64_t bytes = shape[1].value() / each;
  const Value apart = *codes.value();
  std::optional<Term> packed;
  for (std::int64_t i = 0; i < each; ++i) {
    const Term part(node, node.slice(apart, {0, i, 0}, {1, each, 1}, Shape{shape[0], Dim(bytes), shape[2]}));
    const Term shifted = i == 0 ? part : part * static_cast<double>(1 << (i * bits));
    packed = packed ? *packed + shifted : shifted;
  }
  return *packed;
}

}  // namespace

Result<std::optional<Value>> packedMatrix(NodeContext& node, Value x, Value scale, Value zero,
                                          std::int64_t axis, std::int64_t block) {
  const std::int64_t bits = bitsOf(elementOf(x));
  if (!isConstant(x) || bits == 0 || (block == 0 && bits == 8) || rankOf(x) != 2 || !isFloat(scale) ||
      elementOf(scale).isF64() || (zero && elementOf(zero) != elementOf(x)))
    return std::nullopt;
  // Columns share nothing: blocks run along the rows. A scale per index of the axis has one block.
  const bool turned = (block == 0) == (axis == 0);
  Term codes(node, x), scales(node, scale), zeros(node, zero ? zero : scale);
  if (turned) codes = codes.transpose({1, 0});
  if (!codes.ok()) return fail(codes.value().error());
  const Shape shape = codes.shape();
  if (!ir::isStatic(shape)) return std::nullopt;
  const std::int64_t rows = shape[0].value(), columns = shape[1].value(), height = block ? block : rows;
  if (rows == 0 || columns == 0 || rows % height != 0) return std::nullopt;
  const Shape each{Dim(rows / height), Dim(columns)};
  const auto arranged = [&](const Term& parameter) {
    return block && turned ? parameter.transpose({1, 0}) : parameter.reshape(each);
  };
  const Shape wanted = !block ? Shape{Dim(columns)} : turned ? Shape{each[1], each[0]} : each;
  for (Value parameter : {scale, zero})
    if (parameter && dimsOf(parameter) != wanted) return std::nullopt;
  const mlir::Type f32 = mlir::Float32Type::get(node.context()),
                   u8 = ir::elementType(node.context(), DType::kU8);
  scales = arranged(scales).cast(f32);
  const std::int64_t perByte = height % (8 / bits) == 0 ? 8 / bits : 1;
  KILN_ASSIGN(Value whole, codes.value());
  std::optional<Value> offset;
  if (bits < 8) {
    codes = unsignedCodes(node, whole, bits);
    Term middle(node, node.filled(u8, each, elementOf(x).isUnsignedInteger() ? 0 : 1 << (bits - 1)));
    if (zero) middle = arranged(unsignedCodes(node, zero, bits));
    KILN_ASSIGN(offset, middle.value());
  } else if (zero) {
    KILN_ASSIGN(offset, arranged(zeros).value());
  }
  codes = packedRows(node, codes.reshape({each[0], Dim(height), each[1]}), perByte, bits);
  KILN_ASSIGN(Value packed, codes.value());
  KILN_ASSIGN(Value factors, scales.value());
  KILN_ASSIGN(Value matrix, frontend::PackedBuilder(node).dequantise(
                                packed, factors, offset.value_or(Value()), perByte == 1 ? 8 : bits));
  if (turned) {
    KILN_ASSIGN(matrix, node.transpose(matrix, {1, 0}));
  }
  return matrix;
}

}  // namespace kiln::onnx
