// Matrix products with more around them, and products with weights of a few bits.
#include "compiler_core/frontend/graph/packed_builder.h"
#include "compiler_core/frontend/onnx/operators/contrib/activation.h"
#include "compiler_core/frontend/onnx/operators/contrib/contrib.h"
#include "compiler_core/frontend/onnx/operators/shared.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

using ir::BinaryKind;

// With `batch` the rows stand before the batch's dimensions and go behind them; with `transposed` the last
// two dimensions change places. A vector stays.
Result<Value> arranged(NodeContext& node, Value value, bool transposed, bool batch) {
  const std::int64_t rank = rankOf(value);
  if (rank < 2 || (!transposed && !batch)) return value;
  Dims order;
  for (std::int64_t i = 0; i < rank; ++i) order.push_back(i);
  if (batch) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (transposed) std::swap(order[rank - 2], order[rank - 1]);
  return node.transpose(value, order);
}

Result<Values> fusedMatMul(NodeContext& node) {
  KILN_ASSIGN(Value a, node.input(0));
  KILN_ASSIGN(Value b, node.input(1));
  KILN_ASSIGN(float alpha, node.real("alpha", 1.0f));
  KILN_ASSIGN(std::int64_t transA, node.integer("transA", 0));
  KILN_ASSIGN(std::int64_t transB, node.integer("transB", 0));
  KILN_ASSIGN(std::int64_t batchA, node.integer("transBatchA", 0));
  KILN_ASSIGN(std::int64_t batchB, node.integer("transBatchB", 0));
  KILN_ASSIGN(a, arranged(node, a, transA != 0, batchA != 0));
  KILN_ASSIGN(b, arranged(node, b, transB != 0, batchB != 0));
  KILN_ASSIGN(Value product, matmulOf(node, a, b));
  if (alpha != 1.0f) {
    KILN_ASSIGN(product, (Term(node, product) * alpha).value());
  }
  return Values{product};
}

Result<Values> fusedGemm(NodeContext& node) {
  KILN_ASSIGN(Value product, gemmOf(node));
  KILN_ASSIGN(std::string activation, node.text("activation", ""));
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (!node.hasAttribute(name)) break;
    KILN_ASSIGN(float parameter, node.real(name, 0));
    parameters.push_back(parameter);
  }
  KILN_ASSIGN(Value result, activated(node, product, activation, parameters));
  return Values{result};
}

// Rows of codes of `bits` bits, the first in the lowest bits of the first byte: [rows, bytes] as
// [rows, bytes * 8 / bits].
Term unpacked(NodeContext& node, const Term& bytes, std::int64_t bits) {
  if (bits == 8 || !bytes.ok()) return bytes;
  const Shape shape = bytes.shape();
  const std::int64_t each = 8 / bits;
  const mlir::Type u8 = elementOf(*bytes.value());
  const Term shifts = countAlong(node, u8, Dim(each), 2, 3) * static_cast<double>(bits);
  return (bytes.reshape({shape[0], shape[1], Dim(1)}).binary(BinaryKind::Shr, shifts) &
          bytes.number(static_cast<double>((1 << bits) - 1)))
      .reshape({shape[0], shape[1] * Dim(each)});
}

// Weights of N columns and K rows in blocks of `block` rows, each block of a column with its scale.
struct Blocks {
  std::int64_t rows = 0, columns = 0, bits = 0, block = 0;
  std::int64_t count() const { return (rows + block - 1) / block; }
};

Result<Blocks> readBlocks(NodeContext& node) {
  Blocks made;
  KILN_ASSIGN(made.rows, node.integer("K", 0));
  KILN_ASSIGN(made.columns, node.integer("N", 0));
  KILN_ASSIGN(made.bits, node.integer("bits", 4));
  KILN_ASSIGN(made.block, node.integer("block_size", 0));
  // How much accuracy the activations may lose; they lose none here.
  KILN_TRY(node.integer("accuracy_level", 0));
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (made.rows < 1 || made.columns < 1 || made.rows > kMost || made.columns > kMost)
    return invalid("K is " + std::to_string(made.rows) + " and N " + std::to_string(made.columns));
  if (made.block < 16 || made.block > kMost || (made.block & (made.block - 1)))
    return invalid("block_size is " + std::to_string(made.block) + ", no power of two from 16 on");
  if (made.bits != 2 && made.bits != 4 && made.bits != 8)
    return fail(Code::kUnimplemented, "weights of " + std::to_string(made.bits) + " bits are not served");
  return made;
}

// A tensor of the layout's element count in any shape, as [columns, each].
Result<Term> laidOut(NodeContext& node, std::size_t index, const Blocks& blocks, std::int64_t each) {
  KILN_ASSIGN(Value value, node.input(index));
  const Dim given = ir::product(dimsOf(value)), wanted(blocks.columns * each);
  if (!(given == wanted))
    return unfit("input " + std::to_string(index) + " has " + node.describe(given) + " elements instead of " +
                     node.describe(wanted),
                 {given});
  return Term(node, value).reshape({Dim(blocks.columns), Dim(each)});
}

// Per block what a code of 0 stands at, [blocks, columns]: packed like the codes, a float each, or the
// middle.
Result<Value> zeroPoints(NodeContext& node, const Blocks& blocks) {
  const std::int64_t count = blocks.count();
  const Shape columnsFirst{Dim(blocks.columns), Dim(count)};
  if (!node.hasInput(3))
    return node.filled(ir::elementType(node.context(), DType::kU8), Shape{Dim(count), Dim(blocks.columns)},
                       1 << (blocks.bits - 1));
  if (isFloat(node.inputs()[3])) {
    KILN_ASSIGN(Term given, laidOut(node, 3, blocks, count));
    return given.cast(mlir::Float32Type::get(node.context())).transpose({1, 0}).value();
  }
  const std::int64_t bytes = (count * blocks.bits + 7) / 8;
  KILN_ASSIGN(Term packed, laidOut(node, 3, blocks, bytes));
  KILN_ASSIGN(Value codes, unpacked(node, packed, blocks.bits).value());
  KILN_ASSIGN(codes, node.slice(codes, {0, 0}, {1, 1}, columnsFirst));
  return node.transpose(codes, {1, 0});
}

// A * ((codes - zero points) * scales), with the codes of a column in blocks along K.
Result<Values> matMulNBits(NodeContext& node) {
  KILN_ASSIGN(Value a, node.input(0));
  KILN_ASSIGN(Blocks blocks, readBlocks(node));
  if (rankOf(a) == 0) return invalid("A is a scalar");
  KILN_TRY(refuseInput(node, 4, "g_idx"));
  KILN_TRY(serveOnly(node, "weight_prepacked", 0));
  const mlir::Type wide = calculationType(elementOf(a)), f32 = mlir::Float32Type::get(node.context());
  const Dim columns(blocks.columns), count(blocks.count());
  const std::int64_t bytes = blocks.block * blocks.bits / 8;
  KILN_ASSIGN(Term packed, laidOut(node, 1, blocks, blocks.count() * bytes));
  KILN_ASSIGN(Term scales, laidOut(node, 2, blocks, blocks.count()));
  // Columns lie side by side, so that a product reads what belongs to neighbours at once.
  KILN_ASSIGN(Value codes, packed.reshape({columns, count, Dim(bytes)}).transpose({1, 2, 0}).value());
  KILN_ASSIGN(Value factors, scales.cast(f32).transpose({1, 0}).value());
  KILN_ASSIGN(Value zeros, zeroPoints(node, blocks));
  KILN_ASSIGN(Value weights, frontend::PackedBuilder(node).dequantise(codes, factors, zeros, blocks.bits));
  KILN_ASSIGN(weights, node.cast(weights, wide));
  KILN_ASSIGN(Value input, node.cast(a, wide));
  if (const std::int64_t beyond = blocks.count() * blocks.block - blocks.rows; beyond > 0) {
    // The last block has rows that meet nothing.
    Dims none(static_cast<std::size_t>(rankOf(input)), 0), high = none;
    high.back() = beyond;
    KILN_ASSIGN(input, node.pad(ir::PadMode::Constant, input, node.scalar(wide, 0), none, high));
  }
  KILN_ASSIGN(Value product, matmulOf(node, input, weights));
  Term result(node, product);
  if (node.hasInput(5)) result = result + Term(node, node.inputs()[5]).cast(wide);
  KILN_ASSIGN(Value y, result.cast(elementOf(a)).value());
  return Values{y};
}

constexpr Operator kRows[] = {
    {kMicrosoft, "FusedGemm", 1, 1, fusedGemm},
    {kMicrosoft, "FusedMatMul", 1, 1, fusedMatMul},
    {kMicrosoft, "MatMulNBits", 1, 1, matMulNBits},
    {kMicrosoft, "TransposeMatMul", 1, 1, fusedMatMul},
};

}  // namespace

std::span<const Operator> contribLinearOperators() {
  return kRows;
}

}  // namespace kiln::onnx
