// Einsum: any equation, as diagonals, transposes, products of two operands at a time and sums.
#include <cctype>
#include <map>

#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// A dimension's name: a letter, or for those of an ellipsis -1 for the last of them, -2 for the one before
// it, ...
using Label = int;
using Labels = llvm::SmallVector<Label>;

// A value whose dimensions have distinct labels.
struct Named {
  Value value;
  Labels labels;
};

struct Equation {
  std::vector<std::string> operands;
  std::optional<std::string> result;
};

Result<Equation> parse(const std::string& text) {
  Equation equation;
  std::string plain;
  for (char c : text)
    if (c != ' ') plain += c;
  const std::size_t arrow = plain.find("->");
  std::string left = plain.substr(0, arrow);
  if (arrow != std::string::npos) equation.result = plain.substr(arrow + 2);
  for (std::size_t begin = 0; begin <= left.size();) {
    const std::size_t end = std::min(left.find(',', begin), left.size());
    equation.operands.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  auto check = [&](const std::string& term) -> Status {
    std::string rest = term;
    if (std::size_t dots = rest.find("..."); dots != std::string::npos) rest.erase(dots, 3);
    for (char c : rest)
      if (!std::isalpha(static_cast<unsigned char>(c)))
        return invalid("the equation '" + text + "' cannot be read");
    return {};
  };
  for (const std::string& term : equation.operands) KILN_TRY(check(term));
  if (equation.result) KILN_TRY(check(*equation.result));
  return equation;
}

// One label per dimension; an ellipsis stands for those that the letters leave over.
Result<Labels> labelsOf(const std::string& term, std::int64_t rank, std::int64_t& ellipsis) {
  const std::size_t dots = term.find("...");
  const std::int64_t letters = static_cast<std::int64_t>(term.size()) - (dots == std::string::npos ? 0 : 3);
  if (dots == std::string::npos ? letters != rank : letters > rank)
    return invalid("term '" + term + "' does not fit an operand of rank " + std::to_string(rank));
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i != dots) {
      labels.push_back(term[i]);
      continue;
    }
    for (std::int64_t left = rank - letters; left > 0; --left) labels.push_back(static_cast<Label>(-left));
    ellipsis = std::max(ellipsis, rank - letters);
    i += 2;
  }
  return labels;
}

std::int64_t positionOf(llvm::ArrayRef<Label> labels, Label label) {
  return llvm::find(labels, label) - labels.begin();
}

Result<Named> transposed(NodeContext& node, const Named& named, const Labels& order) {
  if (named.labels == order) return named;
  Dims permutation;
  for (Label label : order) permutation.push_back(positionOf(named.labels, label));
  KILN_ASSIGN(Value value, node.transpose(named.value, permutation));
  return Named{value, order};
}

// Dimensions that have a label twice become their diagonal.
Result<Named> withoutRepeats(NodeContext& node, Value value, Labels labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto again = llvm::find(llvm::drop_begin(labels, i + 1), labels[i]);
    if (again == labels.end()) continue;
    const auto j = static_cast<std::size_t>(again - labels.begin());
    Shape shape = dimsOf(value);
    if (!(shape[i] == shape[j]))
      return unfit("a label that is repeated has two extents", {shape[i], shape[j]});
    if (!shape[i].isStatic())
      return fail(Code::kUnimplemented, "the diagonal of dimensions known at run time only is not served");
    const std::int64_t extent = shape[i].value();
    // Both last, flat, and every (extent + 1)-th.
    Dims permutation;
    for (std::size_t k = 0; k < labels.size(); ++k)
      if (k != i && k != j) permutation.push_back(static_cast<std::int64_t>(k));
    Shape flat;
    for (std::int64_t k : permutation) flat.push_back(shape[static_cast<std::size_t>(k)]);
    permutation.append({static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
    const Label label = labels[i];
    Labels rest;
    for (Label other : labels)
      if (other != label) rest.push_back(other);
    rest.push_back(label);
    flat.push_back(Dim(extent * extent));
    KILN_ASSIGN(value, node.transpose(value, permutation));
    KILN_ASSIGN(value, node.reshape(value, flat));
    Dims strides(flat.size(), 1);
    strides.back() = extent + 1;
    flat.back() = Dim(extent);
    KILN_ASSIGN(value, node.slice(value, Dims(flat.size(), 0), strides, flat));
    labels = std::move(rest);
    i = static_cast<std::size_t>(-1);  // once more from the start
  }
  return Named{value, labels};
}

// Sums away the labels that nothing else needs.
Result<Named> summed(NodeContext& node, const Named& named, llvm::function_ref<bool(Label)> needed) {
  Dims axes;
  Labels kept;
  for (auto [i, label] : llvm::enumerate(named.labels)) {
    if (needed(label))
      kept.push_back(label);
    else
      axes.push_back(static_cast<std::int64_t>(i));
  }
  if (axes.empty()) return named;
  KILN_ASSIGN(Value value, node.reduce(ir::ReduceKind::Sum, named.value, axes, false));
  return Named{value, kept};
}

Result<Named> product(NodeContext& node, Named a, Named b, llvm::function_ref<bool(Label)> needed) {
  // A label in both: extents meet; one of them may be 1 (of an ellipsis).
  std::map<Label, Dim> extents;
  for (const Named* named : {&a, &b})
    for (auto [label, dim] : llvm::zip_equal(named->labels, dimsOf(named->value))) {
      auto [place, isNew] = extents.try_emplace(label, dim);
      if (isNew) continue;
      KILN_ASSIGN(Shape common, node.broadcastDims({place->second}, {dim}));
      place->second = common[0];
    }
  Labels batch, contracted, freeA, freeB;
  for (Label label : a.labels)
    (!llvm::is_contained(b.labels, label) ? freeA : needed(label) ? batch : contracted).push_back(label);
  for (Label label : b.labels)
    if (!llvm::is_contained(a.labels, label)) freeB.push_back(label);
  auto shaped = [&](llvm::ArrayRef<Label> labels) {
    Shape shape;
    for (Label label : labels) shape.push_back(extents.at(label));
    return shape;
  };
  // [batch, rows, columns] of an operand: its labels in order, at full extent, flat.
  auto matrix = [&](const Named& named, const Labels& rows, const Labels& columns) -> Result<Value> {
    Labels order(batch);
    order.append(rows);
    order.append(columns);
    KILN_ASSIGN(Named sorted, transposed(node, named, order));
    KILN_ASSIGN(Value value, node.broadcast(sorted.value, shaped(order)));
    return node.reshape(
        value, {ir::product(shaped(batch)), ir::product(shaped(rows)), ir::product(shaped(columns))});
  };
  KILN_ASSIGN(Value left, matrix(a, freeA, contracted));
  KILN_ASSIGN(Value right, matrix(b, contracted, freeB));
  KILN_ASSIGN(Value value,
              contracted.empty() ? node.binary(ir::BinaryKind::Mul, left, right) : node.matmul(left, right));
  Labels labels(batch);
  labels.append(freeA);
  labels.append(freeB);
  KILN_ASSIGN(value, node.reshape(value, shaped(labels)));
  return Named{value, labels};
}

Result<Values> einsum(NodeContext& node) {
  KILN_ASSIGN(std::string text, node.text("equation", ""));
  KILN_ASSIGN(Equation equation, parse(text));
  if (equation.operands.size() != node.inputCount() || node.inputCount() == 0)
    return invalid("the equation '" + text + "' has " + std::to_string(equation.operands.size()) +
                   " terms for " + std::to_string(node.inputCount()) + " inputs");
  std::vector<Named> operands;
  std::map<Label, int> uses;
  std::int64_t ellipsis = 0;
  for (std::size_t i = 0; i < node.inputCount(); ++i) {
    KILN_ASSIGN(Value value, node.input(i));
    KILN_ASSIGN(Labels labels, labelsOf(equation.operands[i], rankOf(value), ellipsis));
    for (Label label : labels) ++uses[label];
    KILN_ASSIGN(Named named, withoutRepeats(node, value, labels));
    operands.push_back(std::move(named));
  }
  Labels result;
  if (equation.result) {
    std::int64_t unused = 0;
    const std::int64_t letters = static_cast<std::int64_t>(equation.result->size());
    const bool dots = equation.result->find("...") != std::string::npos;
    KILN_ASSIGN(result, labelsOf(*equation.result, dots ? letters - 3 + ellipsis : letters, unused));
  } else {
    // The ellipsis, then what occurs once, in the order of letters.
    for (std::int64_t left = ellipsis; left > 0; --left) result.push_back(static_cast<Label>(-left));
    for (auto [label, count] : uses)
      if (label > 0 && count == 1) result.push_back(label);
  }
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!uses.contains(result[i]) || positionOf(result, result[i]) != static_cast<std::int64_t>(i))
      return invalid("the result of '" + text + "' has a label that no operand has, or one twice");
  auto neededAfter = [&](std::size_t next) {
    return [&, next](Label label) {
      if (llvm::is_contained(result, label)) return true;
      for (std::size_t i = next; i < operands.size(); ++i)
        if (llvm::is_contained(operands[i].labels, label)) return true;
      return false;
    };
  };
  Named sum = operands[0];
  KILN_ASSIGN(sum, summed(node, sum, neededAfter(1)));
  for (std::size_t i = 1; i < operands.size(); ++i) {
    // What only this operand has and nobody wants is summed before it is multiplied.
    KILN_ASSIGN(Named next, summed(node, operands[i], [&](Label label) {
                  return llvm::is_contained(sum.labels, label) || neededAfter(i + 1)(label);
                }));
    KILN_ASSIGN(sum, product(node, sum, next, neededAfter(i + 1)));
    KILN_ASSIGN(sum, summed(node, sum, neededAfter(i + 1)));
  }
  KILN_ASSIGN(sum, transposed(node, sum, result));
  return Values{sum.value};
}

constexpr Operator kRows[] = {{"", "Einsum", 12, kMaxOpset, inF32<einsum>}};

}  // namespace

std::span<const Operator> einsumOperators() {
  return kRows;
}

}  // namespace kiln::onnx
