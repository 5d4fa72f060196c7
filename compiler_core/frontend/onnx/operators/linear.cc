// Matrix products.
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"

namespace kiln::onnx {
namespace {

using ir::BinaryKind;

Result<Values> matmul(NodeContext& node) {
  KILN_ASSIGN(Value lhs, node.input(0));
  KILN_ASSIGN(Value rhs, node.input(1));
  KILN_ASSIGN(Value product, matmulOf(node, lhs, rhs));
  return Values{product};
}

Result<Value> scaled(NodeContext& node, Value value, float factor) {
  if (factor == 1.0f) return value;
  if (!isFloat(value)) return fail(Code::kUnimplemented, "alpha or beta other than 1 for integers");
  return node.binary(BinaryKind::Mul, value, node.scalar(elementOf(value), factor));
}

}  // namespace

Result<Value> gemmOf(NodeContext& node) {
  KILN_ASSIGN(Value a, node.input(0));
  KILN_ASSIGN(Value b, node.input(1));
  KILN_ASSIGN(float alpha, node.real("alpha", 1.0f));
  KILN_ASSIGN(float beta, node.real("beta", 1.0f));
  KILN_ASSIGN(std::int64_t transA, node.integer("transA", 0));
  KILN_ASSIGN(std::int64_t transB, node.integer("transB", 0));
  if (node.opset() < 7) KILN_TRY(node.integer("broadcast", 0));
  if (rankOf(a) != 2 || rankOf(b) != 2) return fail(Code::kInvalidArgument, "A and B must be matrices");
  if (transA) {
    KILN_ASSIGN(a, node.transpose(a, {1, 0}));
  }
  if (transB) {
    KILN_ASSIGN(b, node.transpose(b, {1, 0}));
  }
  KILN_ASSIGN(Value product, node.matmul(a, b));
  KILN_ASSIGN(product, scaled(node, product, alpha));
  if (!node.hasInput(2) || beta == 0.0f) return product;
  KILN_ASSIGN(Value c, scaled(node, node.inputs()[2], beta));
  KILN_ASSIGN(Value wide, node.broadcast(c, dimsOf(product)));
  return node.binary(BinaryKind::Add, product, wide);
}

namespace {

Result<Values> gemm(NodeContext& node) {
  KILN_ASSIGN(Value result, gemmOf(node));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "Gemm", 6, kMaxOpset, gemm},
    {"", "MatMul", 6, kMaxOpset, matmul},
};

}  // namespace

Result<Value> matmulOf(NodeContext& node, Value lhs, Value rhs) {
  const bool vectorLeft = rankOf(lhs) == 1, vectorRight = rankOf(rhs) == 1;
  if (rankOf(lhs) == 0 || rankOf(rhs) == 0) return fail(Code::kInvalidArgument, "MatMul of a scalar");
  if (vectorLeft) {
    KILN_ASSIGN(lhs, node.reshape(lhs, {1, dimsOf(lhs)[0]}));
  }
  if (vectorRight) {
    KILN_ASSIGN(rhs, node.reshape(rhs, {dimsOf(rhs)[0], 1}));
  }
  const Shape from = dimsOf(lhs), with = dimsOf(rhs);
  KILN_ASSIGN(Shape shape,
              node.broadcastDims(llvm::ArrayRef(from).drop_back(2), llvm::ArrayRef(with).drop_back(2)));
  const Dim rows = from[from.size() - 2], depth = from.back(), columns = with.back();
  Value product;
  if (rankOf(rhs) == 2 && rankOf(lhs) > 2) {
    KILN_ASSIGN(Value flat, node.reshape(lhs, {ir::product(llvm::ArrayRef(from).drop_back(1)), depth}));
    KILN_ASSIGN(product, node.matmul(flat, rhs));
  } else {
    Shape left = shape, right = shape;
    left.append({rows, depth});
    llvm::append_range(right, llvm::ArrayRef(with).take_back(2));
    KILN_ASSIGN(lhs, node.broadcast(lhs, left));
    KILN_ASSIGN(rhs, node.broadcast(rhs, right));
    KILN_ASSIGN(product, node.matmul(lhs, rhs));
  }
  if (!vectorLeft) shape.push_back(rows);
  if (!vectorRight) shape.push_back(columns);
  KILN_ASSIGN(product, node.reshape(product, shape));
  return product;
}

std::span<const Operator> linearOperators() {
  return kRows;
}

}  // namespace kiln::onnx
