#include "compiler_core/frontend/torch/operators/product.h"

#include <algorithm>
#include <map>

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

using Terms = std::vector<Term>;

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

// The letters of an equation such as "bhid,bhjd->bhij": one text per operand, and the result's.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};
Result<Equation> parseEquation(std::string text, std::size_t count) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  Equation out;
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos || text.size() > 256 || text.find('.') != std::string::npos)
    return unserved("an equation without -> or with ... is not served; use matmul()");
  out.result = text.substr(arrow + 2);
  for (std::size_t at = 0; at <= arrow;) {
    const std::size_t end = std::min(text.find(',', at), arrow);
    out.operands.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  for (std::string letters : {out.operands.front(), out.operands.back(), out.result}) {
    std::sort(letters.begin(), letters.end());
    if (std::adjacent_find(letters.begin(), letters.end()) != letters.end())
      return unserved("an equation that repeats a letter is not served");
  }
  if (out.operands.size() != count || count != 2) return unserved("an equation of two tensors is served");
  return out;
}

// Letters of `from` that are in `a` or not, and in `b` or not.
std::string letters(const std::string& from, const std::string& a, bool inA, const std::string& b, bool inB) {
  std::string out;
  for (char c : from)
    if ((a.find(c) != std::string::npos) == inA && (b.find(c) != std::string::npos) == inB) out += c;
  return out;
}

// A product of matrices, with what both have and the result keeps as batch.
Result<Values> einsum(NodeContext& node) {
  node.ignore({"path"});
  KILN_ASSIGN(const Values given, node.tensors("tensors"));
  KILN_ASSIGN(const std::string text, node.text("equation", ""));
  KILN_ASSIGN(const Equation equation, parseEquation(text, given.size()));
  const std::string &a = equation.operands[0], &b = equation.operands[1], &result = equation.result;
  const std::string batch = letters(a, b, true, result, true), summed = letters(a, b, true, result, false);
  const std::string rows = letters(a, b, false, result, true), columns = letters(b, a, false, result, true);
  std::map<char, Dim> extents;
  Terms terms;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string& own = equation.operands[i];
    const Shape shape = dimsOf(given[i]);
    if (!given[i] || shape.size() != own.size())
      return invalid("an equation's letters are not the tensor's dimensions");
    for (std::size_t k = 0; k < own.size(); ++k) extents[own[k]] = shape[k];
    const std::string order = i == 0 ? batch + rows + summed : batch + summed + columns;
    if (order.size() != own.size()) return unserved("an equation that sums one tensor alone is not served");
    Dims permutation;
    for (char c : order) permutation.push_back(static_cast<std::int64_t>(own.find(c)));
    KILN_ASSIGN(const Value wide, isFloat(given[i]) && elementOf(given[i]).getIntOrFloatBitWidth() < 32
                                      ? node.cast(given[i], node.f32())
                                      : Result<Value>(given[i]));
    terms.push_back(Term(node, wide).transpose(permutation));
  }
  auto sizeOf = [&](const std::string& group) {
    Dim size = 1;
    for (char c : group) size = size * extents[c];
    return size;
  };
  const Term product = terms[0]
                           .reshape({sizeOf(batch), sizeOf(rows), sizeOf(summed)})
                           .matmul(terms[1].reshape({sizeOf(batch), sizeOf(summed), sizeOf(columns)}));
  const std::string made = batch + rows + columns;
  if (made.size() != result.size())
    return invalid("the result of the equation has a letter that no tensor has");
  Shape whole;
  for (char c : made) whole.push_back(extents[c]);
  Dims permutation;
  for (char c : result) permutation.push_back(static_cast<std::int64_t>(made.find(c)));
  return one(product.reshape(whole).transpose(permutation));
}

constexpr auto kWide = Precision::kWidened;
constexpr Row kRows[] = {
    {"addmm", addmm, kWide},   {"baddbmm", baddbmm, kWide}, {"bmm", matrices, kWide},
    {"dot", dot, kWide},       {"einsum", einsum, kWide},   {"linear", linear, kWide},
    {"matmul", matmul, kWide}, {"mm", matrices, kWide},     {"mv", matrixByVector, kWide},
    {"outer", outer},
};

}  // namespace

std::span<const Row> productRows() {
  return kRows;
}

}  // namespace kiln::torch
