// ai.onnx.preview.training: gradients, and optimisers, which make one step for each of several tensors.
#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/formula/gradient.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

// Inputs are the rate R, the update count T and then groups of n tensors each, the kth group at 2 + k * n.
// `step` makes the new value of each state from one tensor of each group; states come out group by group.
template <class Step>
Result<Values> optimise(NodeContext& node, std::size_t groups, std::size_t states, Step step) {
  if (node.inputCount() < 2 + groups || (node.inputCount() - 2) % groups != 0)
    return fail(Code::kInvalidArgument,
                "the inputs are not R, T and " + std::to_string(groups) + " per tensor");
  const std::size_t count = (node.inputCount() - 2) / groups;
  KILN_ASSIGN(Value rate, node.input(0));
  KILN_ASSIGN(Value updates, node.input(1));
  Values results(count * states);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Term> tensors;
    for (std::size_t group = 0; group < groups; ++group) {
      KILN_ASSIGN(Value tensor, node.input(2 + group * count + i));
      tensors.emplace_back(node, tensor);
    }
    const mlir::Type element = elementOf(*tensors[0].value());
    const std::vector<Term> made =
        step(Term(node, rate).cast(element).reshape(Shape{}), Term(node, updates).reshape(Shape{}), tensors);
    for (std::size_t state = 0; state < states; ++state) {
      KILN_ASSIGN(results[state * count + i], made[state].value());
    }
  }
  return results;
}

Result<Values> adagrad(NodeContext& node) {
  KILN_ASSIGN(float decay, node.real("decay_factor", 0.0f));
  KILN_ASSIGN(float epsilon, node.real("epsilon", 0.0f));
  KILN_ASSIGN(float norm, node.real("norm_coefficient", 0.0f));
  return optimise(node, 3, 2, [&](const Term& rate, const Term& updates, const std::vector<Term>& t) {
    const Term &x = t[0], &gradient = t[1], &squares = t[2];
    const Term r = rate / (1.0 + updates.cast(elementOf(*x.value())) * decay);
    const Term regular = norm * x + gradient;
    const Term sum = squares + regular * regular;
    return std::vector<Term>{x - r * regular / (sum.sqrt() + epsilon), sum};
  });
}

Result<Values> momentum(NodeContext& node) {
  KILN_ASSIGN(float alpha, node.real("alpha", 0.0f));
  KILN_ASSIGN(float beta, node.real("beta", 0.0f));
  KILN_ASSIGN(float norm, node.real("norm_coefficient", 0.0f));
  KILN_ASSIGN(std::string mode, node.text("mode", ""));
  if (mode != "standard" && mode != "nesterov")
    return fail(Code::kInvalidArgument, "attribute 'mode' is '" + mode + "', not standard or nesterov");
  return optimise(node, 3, 2, [&](const Term& rate, const Term& updates, const std::vector<Term>& t) {
    const Term &x = t[0], &gradient = t[1], &velocity = t[2];
    const Term regular = norm * x + gradient;
    // The first update is not damped.
    const Term factor = (updates > 0.0).select(x.number(beta), x.number(1));
    const Term next = alpha * velocity + factor * regular;
    const Term step = mode == "standard" ? next : regular + alpha * next;
    return std::vector<Term>{x - rate * step, next};
  });
}

Result<Values> adam(NodeContext& node) {
  KILN_ASSIGN(float alpha, node.real("alpha", 0.9f));
  KILN_ASSIGN(float beta, node.real("beta", 0.999f));
  KILN_ASSIGN(float epsilon, node.real("epsilon", 0.0f));
  KILN_ASSIGN(float norm, node.real("norm_coefficient", 0.0f));
  KILN_ASSIGN(float normPost, node.real("norm_coefficient_post", 0.0f));
  return optimise(node, 4, 3, [&](const Term& rate, const Term& updates, const std::vector<Term>& t) {
    const Term &x = t[0], &gradient = t[1], &first = t[2], &second = t[3];
    const Term regular = norm * x + gradient;
    const Term v = alpha * first + (1.0 - alpha) * regular,
               h = beta * second + (1.0 - beta) * regular * regular;
    // The bias of the running means, from the first update on.
    const Term times = updates.cast(elementOf(*x.value()));
    const Term corrected = rate * (1.0 - x.number(beta).binary(ir::BinaryKind::Pow, times)).sqrt() /
                           (1.0 - x.number(alpha).binary(ir::BinaryKind::Pow, times));
    const Term r = (updates > 0.0).select(corrected, rate);
    const Term next = x - r * v / (h.sqrt() + epsilon);
    return std::vector<Term>{(1.0 - normPost) * next, v, h};
  });
}

// The gradients of the tensor named y with respect to those named xs, where these and those named zs have the
// values of the inputs. What lies between is made again from these values; where they are the named tensors
// themselves, it falls together with what is there already.
Result<Items> gradient(NodeContext& node) {
  KILN_ASSIGN(std::vector<std::string_view> names, node.texts("xs"));
  KILN_ASSIGN(const std::vector<std::string_view> fixed, node.texts("zs"));
  KILN_ASSIGN(const std::string output, node.text("y", ""));
  const std::size_t count = names.size();
  if (count == 0 || output.empty())
    return fail(Code::kInvalidArgument, "attributes 'xs' and 'y' are required");
  names.insert(names.end(), fixed.begin(), fixed.end());
  if (std::set<std::string_view>(names.begin(), names.end()).size() != names.size())
    return fail(Code::kInvalidArgument, "attributes 'xs' and 'zs' name a tensor twice");
  if (node.items().size() != names.size())
    return fail(Code::kInvalidArgument, "attributes 'xs' and 'zs' name " + std::to_string(names.size()) +
                                            " tensors, there are " + std::to_string(node.items().size()) +
                                            " inputs");
  if (node.outputCount() > count)
    return fail(Code::kInvalidArgument, "there are more outputs than names in attribute 'xs'");
  Items arguments;
  Values variables;
  for (const Item& item : node.items()) {
    if (!item.isTensor())
      return fail(Code::kInvalidArgument,
                  "an input is " + std::string(kindText(item)) + ", the operator takes tensors");
    if (variables.size() == count) {
      arguments.push_back(item);
      continue;
    }
    if (!isFloat(item.value)) return fail(Code::kInvalidArgument, "gradients are of floating-point tensors");
    // A constant must not vanish in what is calculated from it.
    variables.push_back(node.cover(item.value));
    arguments.push_back(Item::tensor(variables.back()));
  }
  KILN_ASSIGN(const Item y, node.replay(names, arguments, output));
  if (y.isPoisoned()) return Items(node.outputCount(), Item::poisoned());
  if (!y.isTensor() || !isFloat(y.value))
    return fail(Code::kInvalidArgument, "'" + output + "' is no tensor of floating-point numbers");
  KILN_ASSIGN(Values results, gradients(node, y.value, variables,
                                        [&](std::int64_t operations) { return node.charge(operations); }));
  for (Value variable : variables) GraphBuilder::uncover(variable, results);
  return toItems(results);
}

constexpr std::string_view kDomain = "ai.onnx.preview.training";
constexpr Operator kRows[] = {
    {kDomain, "Adagrad", 1, 1, adagrad},
    {kDomain, "Adam", 1, 1, adam},
    {kDomain, "Gradient", 1, 1, nullptr, gradient},
    {kDomain, "Momentum", 1, 1, momentum},
};

}  // namespace

std::span<const Operator> trainingOperators() {
  return kRows;
}

}  // namespace kiln::onnx
