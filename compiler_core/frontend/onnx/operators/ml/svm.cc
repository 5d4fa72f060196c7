// Support vector machines.
#include <cmath>

#include "compiler_core/frontend/onnx/operators/ml/scores.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

using namespace ml;
using ir::ReduceKind;
using ir::UnaryKind;

mlir::Type f32(NodeContext& node) {
  return mlir::Float32Type::get(node.context());
}

// What a row and a support vector are multiplied by.
struct Kernel {
  std::string type;
  double gamma = 0, coef0 = 0, degree = 0;
};

Result<Kernel> kernelOf(NodeContext& node) {
  Kernel kernel;
  KILN_ASSIGN(kernel.type, node.text("kernel_type", "LINEAR"));
  KILN_ASSIGN(const std::vector<float> parameters, node.reals("kernel_params", {}));
  if (!parameters.empty() && parameters.size() != 3)
    return invalid("attribute 'kernel_params' has " + std::to_string(parameters.size()) +
                   " values; gamma, coef0 and degree are three");
  if (kernel.type != "LINEAR" && kernel.type != "POLY" && kernel.type != "RBF" && kernel.type != "SIGMOID")
    return invalid("attribute 'kernel_type' is '" + kernel.type + "'; LINEAR, POLY, RBF and SIGMOID are");
  if (kernel.type != "LINEAR" && parameters.empty()) return invalid("attribute 'kernel_params' is missing");
  if (!parameters.empty()) kernel = {kernel.type, parameters[0], parameters[1], parameters[2]};
  return kernel;
}

// exp(-gamma * squared distance). Distances come from one product of matrices, |x|^2 + |v|^2 - 2 x v, seen
// from the middle of the vectors: far from it f32 would cancel.
Term radial(NodeContext& node, double gamma, const Term& rows, const std::vector<float>& vectors,
            std::int64_t count) {
  const std::int64_t width = rows.shape()[1].value();
  std::vector<double> middle(static_cast<std::size_t>(width)), turned(vectors.size()),
      squares(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < vectors.size(); ++i)
    middle[i % middle.size()] += vectors[i] / static_cast<double>(count);
  for (double& coordinate : middle) coordinate = static_cast<float>(coordinate);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::size_t vector = i / middle.size(), feature = i % middle.size();
    const double difference = static_cast<float>(vectors[i] - middle[feature]);
    turned[feature * static_cast<std::size_t>(count) + vector] = difference;
    squares[vector] += difference * difference;
  }
  const Term seen = rows - realTable(node, f32(node), middle);
  const Term products = seen.matmul(realTable(node, f32(node), turned, {width, count}));
  const Term distance =
      (seen * seen).reduce(ReduceKind::Sum, {1}, true) + realTable(node, f32(node), squares) - products * 2.0;
  return (max(distance, 0.0) * -gamma).unary(UnaryKind::Exp);
}

// rows [N, F] x vectors [V, F]^T under the kernel: [N, V].
Term kernelProducts(NodeContext& node, const Kernel& kernel, const Term& rows,
                    const std::vector<float>& vectors, std::int64_t count) {
  if (!rows.ok()) return rows;
  if (kernel.type == "RBF") return radial(node, kernel.gamma, rows, vectors, count);
  const Term table =
      realTable(node, f32(node), {vectors.begin(), vectors.end()}, {count, rows.shape()[1].value()});
  const Term products = rows.matmul(table.transpose({1, 0}));
  if (kernel.type == "LINEAR") return products;
  const Term scaled = products * kernel.gamma + kernel.coef0;
  if (kernel.type == "SIGMOID") return scaled.unary(UnaryKind::Tanh);
  if (kernel.degree != std::trunc(kernel.degree) || kernel.degree < 1 || kernel.degree > 8)
    return scaled.binary(ir::BinaryKind::Pow, scaled.number(kernel.degree));
  Term power = scaled;
  for (int i = 1; i < static_cast<int>(kernel.degree); ++i) power = power * scaled;
  return power;
}

Status checkVectors(std::size_t numbers, std::int64_t count, std::int64_t features) {
  if (count <= (std::int64_t{1} << 40) / std::max<std::int64_t>(1, features) &&
      static_cast<std::int64_t>(numbers) == count * features)
    return {};
  return invalid("attribute 'support_vectors' has " + std::to_string(numbers) + " numbers for " +
                 std::to_string(count) + " vectors of " + std::to_string(features) + " features");
}

Result<Values> svmRegressor(NodeContext& node) {
  KILN_ASSIGN(const Term rows, realRowsOf(node));
  KILN_ASSIGN(Kernel kernel, kernelOf(node));
  KILN_ASSIGN(const std::int64_t count, node.integer("n_supports", 0));
  KILN_ASSIGN(const std::int64_t oneClass, node.integer("one_class", 0));
  KILN_ASSIGN(std::vector<float> vectors, node.reals("support_vectors", {}));
  KILN_ASSIGN(const std::vector<float> coefficients, node.reals("coefficients", {}));
  KILN_ASSIGN(const std::vector<float> rho, node.reals("rho", {}));
  KILN_ASSIGN(const PostTransform transform, postTransformOf(node));
  if (transform != PostTransform::kNone)
    return unserved(
        "post_transform of a support vector regressor: ONNX Runtime leaves it out; export without it");
  if (rho.empty()) return invalid("attribute 'rho' is missing");
  const std::int64_t features = rows.shape()[1].value();
  const std::int64_t wanted = count > 0 ? count : features;
  if (count < 0 || static_cast<std::int64_t>(coefficients.size()) != wanted)
    return invalid("there are " + std::to_string(coefficients.size()) + " coefficients; " +
                   std::to_string(wanted) + " are wanted");
  if (count > 0) KILN_TRY(checkVectors(vectors.size(), count, features));
  const Term table = realTable(node, f32(node), {coefficients.begin(), coefficients.end()}, {wanted, 1});
  const Term products = count > 0 ? kernelProducts(node, kernel, rows, vectors, count) : rows;
  Term result = products.matmul(table) + static_cast<double>(rho[0]);
  if (oneClass != 0) result = (result > 0.0).select(result.number(1), result.number(-1));
  KILN_ASSIGN(Value value, result.value());
  return Values{value};
}

// A support vector classifier's attributes, checked.
struct Machine {
  Kernel kernel;
  Dims labels, perClass;
  std::vector<float> vectors, coefficients, rho, probA, probB;
  PostTransform transform = PostTransform::kNone;
  std::int64_t classes = 0, count = 0;  // vectors; 0: linear, a row of coefficients for each class
  std::int64_t pairs() const { return classes * (classes - 1) / 2; }
};

Result<Machine> machineOf(NodeContext& node, std::int64_t features) {
  Machine machine;
  KILN_ASSIGN(machine.kernel, kernelOf(node));
  KILN_ASSIGN(machine.labels, classLabels(node, "classlabels_ints"));
  KILN_ASSIGN(machine.perClass, node.integers("vectors_per_class", {}));
  KILN_ASSIGN(machine.vectors, node.reals("support_vectors", {}));
  KILN_ASSIGN(machine.coefficients, node.reals("coefficients", {}));
  KILN_ASSIGN(machine.rho, node.reals("rho", {}));
  KILN_ASSIGN(machine.probA, node.reals("prob_a", {}));
  KILN_ASSIGN(machine.probB, node.reals("prob_b", {}));
  KILN_ASSIGN(machine.transform, postTransformOf(node));
  machine.classes = std::ssize(machine.labels);
  if (machine.classes < 2) return unserved("a classifier of fewer than two named classes is not served");
  if (machine.classes > 64) return unserved("support vector machines of more than 64 classes are not served");
  for (std::int64_t part : machine.perClass) {
    if (part < 0 || part > 1 << 30) return invalid("an absurd number of vectors in vectors_per_class");
    machine.count += part;
  }
  const std::int64_t classes = machine.classes, count = machine.count;
  const auto given = static_cast<std::int64_t>(machine.coefficients.size());
  if (machine.rho.empty()) return invalid("attribute 'rho' is missing");
  if (machine.probA.size() != machine.probB.size()) return invalid("prob_a and prob_b differ in length");
  const std::int64_t wanted = count > 0 ? (classes - 1) * count : classes * features;
  if (given != wanted)
    return invalid("there are " + std::to_string(given) + " coefficients; " + std::to_string(wanted) +
                   " are wanted");
  if (count == 0) return machine;
  KILN_TRY(checkVectors(machine.vectors.size(), count, features));
  if (std::ssize(machine.perClass) != classes)
    return invalid("vectors_per_class has " + std::to_string(machine.perClass.size()) + " entries for " +
                   std::to_string(classes) + " classes");
  for (const auto& [name, list] : {std::pair("rho", &machine.rho), std::pair("prob_a", &machine.probA)})
    if (std::ssize(*list) != machine.pairs() && !(list == &machine.probA && list->empty()))
      return invalid("attribute '" + std::string(name) + "' has " + std::to_string(list->size()) +
                     " values for " + std::to_string(machine.pairs()) + " pairs of classes");
  return machine;
}

// One score for each pair of classes i < j: [N, pairs], above 0 where i is meant.
Term pairScores(NodeContext& node, const Machine& machine, const Term& products) {
  // Column (i, j) takes the vectors of class i by the coefficients against j, and those of j by those against
  // i.
  std::vector<double> table(static_cast<std::size_t>(machine.count * machine.pairs()));
  std::vector<std::int64_t> first(1, 0);
  for (std::int64_t part : machine.perClass) first.push_back(first.back() + part);
  std::int64_t column = 0;
  auto fill = [&](std::int64_t of, std::int64_t row) {
    for (std::int64_t v = first[static_cast<std::size_t>(of)]; v < first[static_cast<std::size_t>(of) + 1];
         ++v)
      table[static_cast<std::size_t>(v * machine.pairs() + column)] =
          machine.coefficients[static_cast<std::size_t>(row * machine.count + v)];
  };
  for (std::int64_t i = 0; i < machine.classes; ++i)
    for (std::int64_t j = i + 1; j < machine.classes; ++j, ++column) {
      fill(i, j - 1);
      fill(j, i);
    }
  return products.matmul(realTable(node, f32(node), table, {machine.count, machine.pairs()})) +
         realTable(node, f32(node), {machine.rho.begin(), machine.rho.end()});
}

// For each pair the class that it votes for: [N, K] counts; the first of the largest is meant.
Term votesOf(NodeContext& node, const Machine& machine, const Term& scores) {
  std::vector<double> forFirst(static_cast<std::size_t>(machine.pairs() * machine.classes));
  std::vector<double> forSecond = forFirst;
  std::int64_t pair = 0;
  for (std::int64_t i = 0; i < machine.classes; ++i)
    for (std::int64_t j = i + 1; j < machine.classes; ++j, ++pair) {
      forFirst[static_cast<std::size_t>(pair * machine.classes + i)] = 1;
      forSecond[static_cast<std::size_t>(pair * machine.classes + j)] = 1;
    }
  const Term isFirst = (scores > 0.0).cast(f32(node));
  return isFirst.matmul(realTable(node, f32(node), forFirst, {machine.pairs(), machine.classes})) +
         (1.0 - isFirst).matmul(realTable(node, f32(node), forSecond, {machine.pairs(), machine.classes}));
}

// Column `i` of [N, K], as [N, 1].
Term columnOf(NodeContext& node, const Term& table, std::int64_t i) {
  if (!table.ok()) return table;
  return {node, node.slice(*table.value(), {0, i}, {1, 1}, {table.shape()[0], Dim(1)})};
}

// Pairwise coupling (Wu, Lin and Weng 2004, algorithm 2, as libsvm and ONNX Runtime run it): from the
// probabilities of pairs those of classes, by at most 100 sweeps; rows that have settled stay.
Result<Term> coupled(NodeContext& node, const Machine& machine, const Term& scores) {
  const std::int64_t classes = machine.classes;
  const Term a = realTable(node, f32(node), {machine.probA.begin(), machine.probA.end()}),
             b = realTable(node, f32(node), {machine.probB.begin(), machine.probB.end()});
  const Term share =
      (-(scores * a + b)).unary(UnaryKind::Sigmoid).clamp(scores.number(1e-7), scores.number(1 - 1e-7));
  // r[i][j]: the share of i against j.
  auto at = [&](std::int64_t i, std::int64_t j) {
    const std::int64_t low = std::min(i, j), high = std::max(i, j);
    const Term one = columnOf(node, share, low * classes - low * (low + 1) / 2 + high - low - 1);
    return i < j ? one : 1.0 - one;
  };
  std::vector<Term> q;  // by row: [N, K]
  std::vector<Term> diagonal;
  for (std::int64_t i = 0; i < classes; ++i) {
    Values columns;
    std::optional<Term> own;
    for (std::int64_t j = 0; j < classes; ++j) {
      if (j == i) continue;
      const Term square = at(j, i) * at(j, i);
      own = own ? *own + square : square;
    }
    for (std::int64_t j = 0; j < classes; ++j) {
      KILN_ASSIGN(Value column, (j == i ? *own : -(at(j, i) * at(i, j))).value());
      columns.push_back(column);
    }
    diagonal.push_back(*own);
    q.emplace_back(node, node.concat(columns, 1));
  }
  KILN_ASSIGN(const Value given, scores.value());
  const Dim rows = dimsOf(given)[0];
  KILN_ASSIGN(const Value start,
              node.filled(f32(node), {rows, Dim(classes)}, 1.0 / static_cast<double>(classes)));
  auto sweep = [&](Value, const Values& carried) -> GraphBuilder::Yielded {
    const Term before(node, carried.front());
    Values columns;
    for (const Term& row : q) {
      KILN_ASSIGN(Value column, (row * before).reduce(ReduceKind::Sum, {1}, true).value());
      columns.push_back(column);
    }
    Term qp(node, node.concat(columns, 1));
    Term whole = (before * qp).reduce(ReduceKind::Sum, {1}, true), p = before;
    const Term isOpen =
        (qp - whole).abs().reduce(ReduceKind::Max, {1}, true) >= 0.005f / static_cast<float>(classes);
    for (std::int64_t i = 0; i < classes; ++i) {
      const Term& own = diagonal[static_cast<std::size_t>(i)];
      const Term ours = columnOf(node, qp, i), step = (whole - ours) / own, rest = step + 1.0;
      std::vector<double> unit(static_cast<std::size_t>(classes));
      unit[static_cast<std::size_t>(i)] = 1;
      p = (p + step * realTable(node, f32(node), unit)) / rest;
      whole = (whole + step * (step * own + ours * 2.0)) / rest / rest;
      qp = (qp + step * q[static_cast<std::size_t>(i)]) / rest;
    }
    KILN_ASSIGN(Value result, isOpen.select(p, before).value());
    return std::optional(Values{result});
  };
  const Value trips = node.scalar(mlir::IntegerType::get(node.context(), 64), 100);
  KILN_ASSIGN(std::optional<Values> results, node.loop({trips, {}, Dim(100)}, {start}, sweep));
  return Term(node, results->front());
}

// A score for each class: [N, K], and the largest is meant.
Result<Values> linearMachine(NodeContext& node, const Machine& machine, const Term& rows) {
  if (machine.classes == 2)
    return unserved(
        "support vectors missing in a machine of two classes: runtimes disagree about its labels; export "
        "it as a LinearClassifier");
  Kernel linear;
  linear.type = "LINEAR";
  const Term scores = kernelProducts(node, linear, rows, machine.coefficients, machine.classes) +
                      static_cast<double>(machine.rho[0]);
  KILN_ASSIGN(const Value raw, scores.value());
  KILN_ASSIGN(
      Value label,
      labelled(node, machine.labels, Term(node, node.argReduce(ReduceKind::Max, raw, 1, false))).value());
  KILN_ASSIGN(Value result, transformed(node, scores, machine.transform).value());
  return Values{label, result};
}

Result<Values> svmClassifier(NodeContext& node) {
  KILN_ASSIGN(const Term rows, realRowsOf(node));
  KILN_ASSIGN(const Machine machine, machineOf(node, rows.shape()[1].value()));
  if (machine.count == 0) return linearMachine(node, machine, rows);
  const Term scores =
      pairScores(node, machine, kernelProducts(node, machine.kernel, rows, machine.vectors, machine.count));
  const bool hasShares = !machine.probA.empty();
  KILN_ASSIGN(const Value votes, votesOf(node, machine, scores).value());
  KILN_ASSIGN(
      Value label,
      labelled(node, machine.labels, Term(node, node.argReduce(ReduceKind::Max, votes, 1, false))).value());
  std::optional<Term> result;
  if (hasShares) {
    KILN_ASSIGN(const Term shares, coupled(node, machine, scores));
    result = transformed(node, shares, machine.transform);
  } else if (machine.classes > 2) {
    result = transformed(node, scores, machine.transform);
  } else {
    // One score: 1 - s and s if something is done with it, else -s and s.
    const bool isShare = machine.transform != PostTransform::kNone;
    if (isShare)
      return unserved(
          "post_transform of a support vector machine of two classes without prob_a: runtimes disagree "
          "about it; export without it");
    KILN_ASSIGN(result, bothScores(node, scores, PostTransform::kNone, false));
  }
  KILN_ASSIGN(Value value, result->value());
  return Values{label, value};
}

constexpr Operator kRows[] = {
    {"ai.onnx.ml", "SVMClassifier", 1, 5, svmClassifier},
    {"ai.onnx.ml", "SVMRegressor", 1, 5, svmRegressor},
};

}  // namespace

std::span<const Operator> mlSvmOperators() {
  return kRows;
}

}  // namespace kiln::onnx
