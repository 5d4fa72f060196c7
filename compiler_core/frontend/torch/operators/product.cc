#include "compiler_core/frontend/torch/operators/product.h"

#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {

Result<Value> matmulOf(NodeContext& node, Value left, Value right) {
  if (rankOf(left) == 0 || rankOf(right) == 0) return invalid("a product of a scalar");
  const bool isVectorLeft = rankOf(left) == 1, isVectorRight = rankOf(right) == 1;
  if (isVectorLeft) {
    KILN_ASSIGN(left, node.reshape(left, Shape{Dim(1), dimsOf(left)[0]}));
  }
  if (isVectorRight) {
    KILN_ASSIGN(right, node.reshape(right, Shape{dimsOf(right)[0], Dim(1)}));
  }
  const Shape from = dimsOf(left), with = dimsOf(right);
  KILN_ASSIGN(Shape shape,
              node.broadcastDims(llvm::ArrayRef(from).drop_back(2), llvm::ArrayRef(with).drop_back(2)));
  const Dim rows = from[from.size() - 2], depth = from.back(), columns = with.back();
  Value product;
  if (with.size() == 2 && from.size() > 2) {
    KILN_ASSIGN(const Value flat,
                node.reshape(left, Shape{ir::product(llvm::ArrayRef(from).drop_back(1)), depth}));
    KILN_ASSIGN(product, node.matmul(flat, right));
  } else {
    Shape lefts = shape, rights = shape;
    lefts.append({rows, depth});
    llvm::append_range(rights, llvm::ArrayRef(with).take_back(2));
    KILN_ASSIGN(left, node.broadcast(left, lefts));
    KILN_ASSIGN(right, node.broadcast(right, rights));
    KILN_ASSIGN(product, node.matmul(left, right));
  }
  if (!isVectorLeft) shape.push_back(rows);
  if (!isVectorRight) shape.push_back(columns);
  return node.reshape(product, shape);
}

namespace {

Result<Values> plain(NodeContext& node, std::string_view first, std::string_view second) {
  KILN_ASSIGN(const Value left, node.tensor(first));
  KILN_ASSIGN(const Value right, node.tensor(second));
  return one(matmulOf(node, left, right));
}

Result<Values> matmul(NodeContext& node) {
  return plain(node, "self", "other");
}
Result<Values> matrices(NodeContext& node) {
  return plain(node, "self", "mat2");
}
Result<Values> matrixByVector(NodeContext& node) {
  return plain(node, "self", "vec");
}
Result<Values> dot(NodeContext& node) {
  return plain(node, "self", "tensor");
}

// input * weight^T + bias
Result<Values> linear(NodeContext& node) {
  KILN_ASSIGN(const Value input, node.tensor("input"));
  KILN_ASSIGN(const Value weight, node.tensor("weight"));
  KILN_ASSIGN(const Value bias, node.optionalTensor("bias"));
  if (rankOf(weight) != 2) return invalid("the weight is no matrix");
  KILN_ASSIGN(const Value turned, node.transpose(weight, {1, 0}));
  KILN_ASSIGN(const Value product, matmulOf(node, input, turned));
  return one(bias ? node.binary(ir::BinaryKind::Add, product, bias) : Result<Value>(product));
}

// beta * self + alpha * product
Result<Values> addProduct(NodeContext& node, std::string_view first, std::string_view second) {
  KILN_ASSIGN(const Term self, node.term("self"));
  KILN_ASSIGN(const Value left, node.tensor(first));
  KILN_ASSIGN(const Value right, node.tensor(second));
  KILN_ASSIGN(const double alpha, node.real("alpha", 1.0));
  KILN_ASSIGN(const double beta, node.real("beta", 1.0));
  Term product(node, matmulOf(node, left, right));
  if (alpha != 1.0) product = product * alpha;
  if (beta == 0.0) return one(product);
  return one(product + (beta == 1.0 ? self : self * beta));
}

Result<Values> addmm(NodeContext& node) {
  return addProduct(node, "mat1", "mat2");
}
Result<Values> baddbmm(NodeContext& node) {
  return addProduct(node, "batch1", "batch2");
}

Result<Values> outer(NodeContext& node) {
  KILN_ASSIGN(const Value left, node.tensor("self"));
  KILN_ASSIGN(const Value right, node.tensor("vec2"));
  if (rankOf(left) != 1 || rankOf(right) != 1) return invalid("an outer product is one of vectors");
  return one(Term(node, left).reshape({dimsOf(left)[0], Dim(1)}) * Term(node, right));
}

constexpr auto kWide = Precision::kWidened;
constexpr Row kRows[] = {
    {"addmm", addmm, kWide}, {"baddbmm", baddbmm, kWide},   {"bmm", matrices, kWide},
    {"dot", dot, kWide},     {"linear", linear, kWide},     {"matmul", matmul, kWide},
    {"mm", matrices, kWide}, {"mv", matrixByVector, kWide}, {"outer", outer},
};

}  // namespace

std::span<const Row> productRows() {
  return kRows;
}

}  // namespace kiln::torch
