#include "compiler_core/frontend/onnx/formula/gradient.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "compiler_core/frontend/graph/formula.h"
#include "llvm/ADT/TypeSwitch.h"

namespace kiln::onnx {
namespace {

using B = ir::BinaryKind;
using U = ir::UnaryKind;

class Differentiator {
 public:
  Differentiator(GraphBuilder& build, llvm::ArrayRef<Value> variables)
      : build_(build), active_(variables.begin(), variables.end()) {}

  Result<Values> run(Value y, llvm::ArrayRef<Value> variables,
                     llvm::function_ref<Status(std::int64_t)> charge) {
    const std::vector<mlir::Operation*> path = activeOperations(variables);
    KILN_TRY(charge(static_cast<std::int64_t>(path.size())));
    KILN_ASSIGN(adjoints_[y], build_.filled(elementOf(y), dimsOf(y), 1));
    for (mlir::Operation* operation : llvm::reverse(path)) {
      if (llvm::none_of(operation->getResults(), [&](Value result) { return adjoints_.contains(result); }))
        continue;
      KILN_TRY(step(operation));
    }
    Values results;
    for (Value variable : variables) {
      Value adjoint = adjoints_.lookup(variable);
      if (!adjoint) {
        KILN_ASSIGN(adjoint, build_.filled(elementOf(variable), dimsOf(variable), 0));
      }
      results.push_back(adjoint);
    }
    return results;
  }

 private:
  // What depends on a variable, in order. Integers and conditions have no gradient.
  std::vector<mlir::Operation*> activeOperations(llvm::ArrayRef<Value> variables) {
    std::vector<mlir::Operation*> path;
    mlir::Operation* first = nullptr;
    for (Value variable : variables)
      if (!first || variable.getDefiningOp()->isBeforeInBlock(first)) first = variable.getDefiningOp();
    for (mlir::Operation* operation = first; operation; operation = operation->getNextNode()) {
      bool depends = false;
      operation->walk(
          [&](mlir::Operation* inner) { depends |= llvm::any_of(inner->getOperands(), isActive()); });
      if (!depends) continue;
      bool real = false;
      for (Value result : operation->getResults()) {
        if (!isFloat(result)) continue;
        active_.insert(result);
        real = true;
      }
      if (real) path.push_back(operation);
    }
    return path;
  }
  std::function<bool(Value)> isActive() const {
    return [this](Value value) { return active_.contains(value); };
  }

  Term term(Value value) { return {build_, value}; }

  // `gradient` is what `operand` gets from one of its uses.
  Status flow(Value operand, const Term& gradient) {
    if (!active_.contains(operand)) return {};
    KILN_ASSIGN(Value value, gradient.value());
    Value& sum = adjoints_[operand];
    if (!sum) {
      sum = value;
      return {};
    }
    KILN_ASSIGN(sum, build_.binary(B::Add, sum, value));
    return {};
  }

  tl::unexpected<Error> noRule(mlir::Operation* operation, const std::string& what = "") const {
    return fail(Code::kUnimplemented, "the gradient of " + operation->getName().getStringRef().str() + what +
                                          ", of node '" + ir::nodeName(operation->getLoc()) +
                                          "', is not served");
  }

  Status step(mlir::Operation* operation) {
    return llvm::TypeSwitch<mlir::Operation*, Status>(operation)
        .Case<ir::UnaryOp, ir::BinaryOp, ir::SelectOp, ir::CastOp, ir::BroadcastOp, ir::ReshapeOp,
              ir::TransposeOp, ir::ConcatOp, ir::SliceOp, ir::PadOp, ir::GatherOp, ir::CumulativeOp,
              ir::ReduceOp, ir::SoftmaxOp, ir::MatmulOp>(
            [&](auto op) { return rule(op, term(adjoints_.lookup(op.getResult()))); })
        .Default([&](mlir::Operation* other) -> Status { return noRule(other); });
  }

  Status rule(ir::UnaryOp op, const Term& g) {
    const Term x = term(op.getInput()), y = term(op.getResult());
    const Term zero = x.number(0);
    switch (op.getKind()) {
      case U::Neg:
        return flow(op.getInput(), -g);
      case U::Abs:
        return flow(op.getInput(), g * x.unary(U::Sign));
      case U::Exp:
        return flow(op.getInput(), g * y);
      case U::Log:
        return flow(op.getInput(), g / x);
      case U::Sqrt:
        return flow(op.getInput(), 0.5 * g / y);
      case U::Reciprocal:
        return flow(op.getInput(), -(g * y * y));
      case U::Tanh:
        return flow(op.getInput(), g * (1.0 - y * y));
      case U::Erf:  // 2 / sqrt(pi)
        return flow(op.getInput(), 1.1283791670955126 * g * (-(x * x)).unary(U::Exp));
      case U::Sigmoid:
        return flow(op.getInput(), g * y * (1.0 - y));
      case U::Relu:
        return flow(op.getInput(), (x > zero).select(g, 0));
      case U::Sin:
        return flow(op.getInput(), g * x.unary(U::Cos));
      case U::Cos:
        return flow(op.getInput(), -(g * x.unary(U::Sin)));
      case U::Tan:
        return flow(op.getInput(), g * (1.0 + y * y));
      case U::Asin:
        return flow(op.getInput(), g / (1.0 - x * x).sqrt());
      case U::Acos:
        return flow(op.getInput(), -(g / (1.0 - x * x).sqrt()));
      case U::Atan:
        return flow(op.getInput(), g / (1.0 + x * x));
      case U::Sinh:
        return flow(op.getInput(), g * x.unary(U::Cosh));
      case U::Cosh:
        return flow(op.getInput(), g * x.unary(U::Sinh));
      case U::Asinh:
        return flow(op.getInput(), g / (x * x + 1.0).sqrt());
      case U::Acosh:
        return flow(op.getInput(), g / ((x - 1.0).sqrt() * (x + 1.0).sqrt()));
      case U::Atanh:
        return flow(op.getInput(), g / (1.0 - x * x));
      case U::Log1p:
        return flow(op.getInput(), g / (1.0 + x));
      case U::Expm1:
        return flow(op.getInput(), g * (y + 1.0));
      case U::Ceil:
      case U::Floor:
      case U::Round:
      case U::Sign:
        return {};
      case U::Not:
        return noRule(op, " not");
    }
    return noRule(op);
  }

  Status rule(ir::BinaryOp op, const Term& g) {
    const Term a = term(op.getLhs()), b = term(op.getRhs());
    switch (op.getKind()) {
      case B::Add:
        KILN_TRY(flow(op.getLhs(), g));
        return flow(op.getRhs(), g);
      case B::Sub:
        KILN_TRY(flow(op.getLhs(), g));
        return flow(op.getRhs(), -g);
      case B::Mul:
        KILN_TRY(flow(op.getLhs(), g * b));
        return flow(op.getRhs(), g * a);
      case B::Div:
        KILN_TRY(flow(op.getLhs(), g / b));
        return flow(op.getRhs(), -(g * term(op.getResult()) / b));
      case B::Max:
      case B::Min: {
        const Term first = op.getKind() == B::Max ? a >= b : a <= b;
        KILN_TRY(flow(op.getLhs(), first.select(g, 0)));
        return flow(op.getRhs(), first.select(g.number(0), g));
      }
      case B::Pow:
        if (active_.contains(op.getRhs())) return noRule(op, " pow by its exponent");
        return flow(op.getLhs(), g * b * a.binary(B::Pow, b - 1.0));
      default:
        return noRule(op, (" " + ir::stringifyBinaryKind(op.getKind())).str());
    }
  }

  Status rule(ir::SelectOp op, const Term& g) {
    const Term condition = term(op.getCondition());
    KILN_TRY(flow(op.getOnTrue(), condition.select(g, 0)));
    return flow(op.getOnFalse(), condition.select(g.number(0), g));
  }

  Status rule(ir::CastOp op, const Term& g) { return flow(op.getInput(), g.cast(elementOf(op.getInput()))); }

  Status rule(ir::BroadcastOp op, const Term& g) {
    const Shape from = dimsOf(op.getInput()), to = dimsOf(op.getResult());
    Dims repeated;
    for (std::size_t i = 0; i < to.size(); ++i)
      if (i + from.size() < to.size() || !(from[i + from.size() - to.size()] == to[i]))
        repeated.push_back(static_cast<std::int64_t>(i));
    const Term sum = repeated.empty() ? g : g.reduce(ir::ReduceKind::Sum, repeated);
    return flow(op.getInput(), sum.reshape(from));
  }

  Status rule(ir::ReshapeOp op, const Term& g) {
    return flow(op.getInput(), g.reshape(dimsOf(op.getInput())));
  }

  Status rule(ir::TransposeOp op, const Term& g) {
    Dims back(op.getPermutation().size());
    for (auto [i, from] : llvm::enumerate(op.getPermutation()))
      back[static_cast<std::size_t>(from)] = static_cast<std::int64_t>(i);
    return flow(op.getInput(), g.transpose(back));
  }

  Status rule(ir::ConcatOp op, const Term& g) {
    const auto axis = static_cast<std::size_t>(op.getAxis());
    Shape offsets(dimsOf(op.getResult()).size(), Dim(0));
    const Dims ones(offsets.size(), 1);
    KILN_ASSIGN(Value gradient, g.value());
    for (Value input : op.getInputs()) {
      if (active_.contains(input))
        KILN_TRY(flow(input, {build_, build_.symbolicSlice(gradient, offsets, ones, dimsOf(input))}));
      offsets[axis] = offsets[axis] + dimsOf(input)[axis];
    }
    return {};
  }

  // Elements go back where they were read, zeros between and around them.
  Status rule(ir::SliceOp op, const Term& g) {
    const Shape from = dimsOf(op.getInput()), to = dimsOf(op.getResult());
    const std::string symbolic = " with extents that differ between runs";
    if (op.getSymbolicOffsets()) return noRule(op, symbolic);
    KILN_ASSIGN(Value gradient, g.value());
    const std::size_t rank = from.size();
    Dims low(op.getOffsets()), interior(rank), high(rank), first(rank, 0), strides(rank, 1);
    for (std::size_t i = 0; i < rank; ++i) {
      std::int64_t stride = op.getStrides()[i];
      if (from[i] == to[i] && low[i] == 0 && stride == 1) continue;
      if (!from[i].isStatic() || !to[i].isStatic()) return noRule(op, symbolic);
      const std::int64_t count = to[i].value();
      if (count == 0) return flow(op.getInput(), {build_, build_.filled(elementOf(gradient), from, 0)});
      if (count == 1) stride = 1;  // it may be any
      if (stride < 0) {            // read backwards
        first[i] = count - 1;
        strides[i] = -1;
        low[i] += (count - 1) * stride;
      }
      interior[i] = std::abs(stride) - 1;
      high[i] = from[i].value() - low[i] - (count - 1) * (interior[i] + 1) - 1;
    }
    if (llvm::is_contained(strides, -1)) {
      KILN_ASSIGN(gradient, build_.slice(gradient, first, strides, to));
    }
    return flow(op.getInput(),
                {build_, build_.pad(ir::PadMode::Constant, gradient, build_.scalar(elementOf(gradient), 0),
                                    low, high, interior)});
  }

  Status rule(ir::PadOp op, const Term& g) {
    if (op.getMode() != ir::PadMode::Constant || active_.contains(op.getValue()))
      return noRule(op, (" " + ir::stringifyPadMode(op.getMode())).str());
    KILN_ASSIGN(Value gradient, g.value());
    Dims strides(op.getInterior());
    for (std::int64_t& stride : strides) ++stride;
    return flow(op.getInput(), {build_, build_.slice(gradient, op.getLow(), strides, dimsOf(op.getInput()))});
  }

  // Rows of the input collect what was read from them.
  Status rule(ir::GatherOp op, const Term& g) {
    const Shape from = dimsOf(op.getInput()), picked = dimsOf(op.getIndices());
    const auto axis = static_cast<std::size_t>(op.getAxis());
    const Dim rows = from[axis];
    const Term last = extentOf(build_, mlir::IntegerType::get(build_.context(), 64), rows) - 1.0;
    const Term given = term(op.getIndices()).index();
    const Term index = (given < 0.0).select(given + last + 1.0, given).clamp(0, last);
    // [before, picked, after] -> [picked, before, after]
    Dims order(dimsOf(op.getResult()).size());
    std::iota(order.begin(), order.end(), 0);
    const auto at = order.begin() + static_cast<std::ptrdiff_t>(axis);
    std::rotate(order.begin(), at, at + static_cast<std::ptrdiff_t>(picked.size()));
    Shape row{from};
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(axis));
    Shape updates = row, table = row;
    updates.insert(updates.begin(), ir::product(picked));
    table.insert(table.begin(), rows);
    KILN_ASSIGN(Value values, g.transpose(order).reshape(updates).value());
    KILN_ASSIGN(Value places, index.reshape(Shape{ir::product(picked)}).value());
    KILN_ASSIGN(Value zeros, build_.filled(elementOf(values), table, 0));
    const Term sums(build_, build_.scatter(ir::ScatterKind::Add, zeros, places, values));
    Dims back(from.size());
    std::iota(back.begin(), back.end(), 0);
    std::rotate(back.begin(), back.begin() + 1, back.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    return flow(op.getInput(), sums.transpose(back));
  }

  Status rule(ir::CumulativeOp op, const Term& g) {
    if (op.getKind() != ir::ReduceKind::Sum) return noRule(op, " prod");
    KILN_ASSIGN(Value gradient, g.value());
    return flow(op.getInput(), {build_, build_.cumulative(ir::ReduceKind::Sum, gradient, op.getAxis(),
                                                          op.getExclusive(), !op.getReverse())});
  }

  Status rule(ir::ReduceOp op, const Term& g) {
    const Shape from = dimsOf(op.getInput());
    Shape kept = from;
    for (std::int64_t axis : op.getAxes()) kept[static_cast<std::size_t>(axis)] = 1;
    const Term spread = g.reshape(kept).broadcast(from);
    switch (op.getKind()) {
      case ir::ReduceKind::Sum:
        return flow(op.getInput(), spread);
      case ir::ReduceKind::Max:
      case ir::ReduceKind::Min: {
        const Term x = term(op.getInput()), chosen = x == term(op.getResult()).reshape(kept).broadcast(from);
        const Term count = chosen.cast(elementOf(op.getInput())).reduce(ir::ReduceKind::Sum, op.getAxes());
        return flow(op.getInput(), chosen.select(spread / count.reshape(kept), 0));
      }
      default:
        return noRule(op, " prod");
    }
  }

  Status rule(ir::SoftmaxOp op, const Term& g) {
    const Term y = term(op.getResult());
    return flow(op.getInput(), y * (g - (g * y).reduce(ir::ReduceKind::Sum,
                                                       {static_cast<std::int64_t>(op.getAxis())}, true)));
  }

  Status rule(ir::MatmulOp op, const Term& g) {
    Dims swap(static_cast<std::size_t>(rankOf(op.getLhs())));
    std::iota(swap.begin(), swap.end(), 0);
    std::swap(swap.back(), swap[swap.size() - 2]);
    if (active_.contains(op.getLhs()))
      KILN_TRY(flow(op.getLhs(), g.matmul(term(op.getRhs()).transpose(swap))));
    if (active_.contains(op.getRhs()))
      KILN_TRY(flow(op.getRhs(), term(op.getLhs()).transpose(swap).matmul(g)));
    return {};
  }

  GraphBuilder& build_;
  llvm::DenseSet<Value> active_;
  llvm::DenseMap<Value, Value> adjoints_;
};

}  // namespace

Result<Values> gradients(GraphBuilder& build, Value y, llvm::ArrayRef<Value> variables,
                         llvm::function_ref<Status(std::int64_t)> charge) {
  return Differentiator(build, variables).run(y, variables, charge);
}

}  // namespace kiln::onnx
