// If, Loop and Scan. What is decided at compile time is inlined and unrolled, the rest becomes kiln.if and
// kiln.loop.
#include <functional>

#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMaxUnrolledTrips = 64, kMaxUnrolledNodes = 2048;
// Sequences live at compile time only, so loops that carry them are always unrolled.
constexpr std::int64_t kMaxSequenceTrips = 4096;
// Rows of a collected output.
constexpr std::int64_t kMaxTrips = std::int64_t{1} << 31;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// The tensors of items, in order; and items of the same form around other tensors.
void flatten(const Items& items, Values& tensors) {
  for (const Item& item : items) {
    if (item.isTensor()) tensors.push_back(item.value);
    flatten(item.parts, tensors);
  }
}
Items rebuild(const Items& form, llvm::ArrayRef<Value>& tensors) {
  Items items = form;
  for (Item& item : items) {
    if (item.isTensor()) {
      item.value = tensors.front();
      tensors = tensors.drop_front();
    }
    item.parts = rebuild(item.parts, tensors);
  }
  return items;
}
bool sameForm(const Items& a, const Items& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Item& x, const Item& y) {
    return x.kind == y.kind && sameForm(x.parts, y.parts);
  });
}

Items poisoned(const NodeContext& node) {
  return Items(node.outputCount(), Item::poisoned());
}

// A tensor of one element of type `bits` wide integers.
Result<Value> oneInteger(NodeContext& node, Value value, unsigned bits, std::string_view what) {
  if (!elementOf(value).isSignlessInteger(bits) || !(ir::product(dimsOf(value)) == ir::Dim(1)))
    return invalid(std::string(what) + " is no single " + (bits == 1 ? "bool" : "int64"));
  return node.reshape(value, Dims{});
}

// Whether the nodes of a branch fit what they are given. What is not served counts as fitting.
Result<bool> fits(NodeContext& node, const Graph& branch) {
  bool result = true;
  KILN_TRY(node.attempt([&]() -> Result<bool> {
    const auto made = node.importBody(branch, {});
    if (!made && made.error().code != Code::kInvalidArgument) return fail(made.error());
    result = made.has_value();
    return false;
  }));
  return result;
}

Result<Items> importIf(NodeContext& node) {
  KILN_ASSIGN(Value condition, node.input(0));
  KILN_ASSIGN(condition, oneInteger(node, condition, 1, "the condition"));
  KILN_ASSIGN(const Graph* onTrue, node.graph("then_branch"));
  KILN_ASSIGN(const Graph* onFalse, node.graph("else_branch"));
  for (const Graph* graph : {onTrue, onFalse})
    if (graph->outputs.size() < node.outputCount())
      return invalid("a branch has " + std::to_string(graph->outputs.size()) + " outputs, the node " +
                     std::to_string(node.outputCount()));
  if (auto known = NodeContext::constantScalar(condition)) {
    KILN_ASSIGN(auto results, node.importBody(*known != 0 ? *onTrue : *onFalse, {}));
    return results ? std::move(*results) : poisoned(node);
  }
  std::optional<Items> forms[2];
  std::optional<Error> misfit;  // why the branch that was imported last cannot run here
  auto branch = [&](int index, const Graph& graph) -> GraphBuilder::Yielded {
    auto form = node.importBody(graph, {});
    if (!form && form.error().code == Code::kInvalidArgument) {
      misfit = form.error();
      return std::optional<Values>();
    }
    KILN_ASSIGN(forms[index], std::move(form));
    if (!forms[index]) return std::optional<Values>();
    if (index == 1 && !sameForm(*forms[0], *forms[1]))
      return NodeContext::notConstant(
          "the condition of an If whose branches give sequences of different lengths", condition);
    Values tensors;
    flatten(*forms[index], tensors);
    return std::optional(std::move(tensors));
  };
  KILN_ASSIGN(
      auto results,
      node.conditional(condition, [&] { return branch(0, *onTrue); }, [&] { return branch(1, *onFalse); }));
  if (misfit) {
    // The model is wrong if neither branch can run; else a run that takes the other one is fine.
    const bool isThen = !forms[0];
    if (isThen) {
      KILN_ASSIGN(const bool other, fits(node, *onFalse));
      if (!other) return fail(*misfit);
    }
    return NodeContext::notConstant(std::string("the condition of an If whose ") +
                                        (isThen ? "then" : "else") +
                                        " branch cannot run on what it is given (" + misfit->message + ")",
                                    condition);
  }
  if (!results) return poisoned(node);
  llvm::ArrayRef<Value> tensors = *results;
  return rebuild(*forms[0], tensors);
}

// A loop of Loop or Scan.
struct Repeat {
  const Graph& body;
  Value trip, condition;  // null: no limit; scalars
  Items carried;
  Dim maxTrips = 0;               // 0: the trip count, if that is known
  bool bodyHasCondition = false;  // its first output, before the carried values
  std::size_t scans = 0;          // outputs of the body that are collected
  // The body's inputs.
  std::function<Result<Items>(Value iteration, const Items& carried)> inputs;
};

// Imports the body for one iteration: {condition, carried values, collected values}; nullopt where something
// is not served.
struct Iteration {
  Value condition;  // null if the body has none
  Items carried;
  Values collected;
};
Result<std::optional<Iteration>> iterate(NodeContext& node, const Repeat& repeat, Value iteration,
                                         const Items& carried, std::string_view path) {
  KILN_ASSIGN(Items inputs, repeat.inputs(iteration, carried));
  KILN_ASSIGN(auto outputs, node.importBody(repeat.body, inputs, path));
  if (!outputs) return std::optional<Iteration>();
  Iteration result;
  auto next = outputs->begin();
  if (repeat.bodyHasCondition) {
    if (!next->isTensor()) return invalid("the body's condition is " + std::string(kindText(*next)));
    KILN_ASSIGN(result.condition, oneInteger(node, next->value, 1, "the body's condition"));
    ++next;
  }
  for (std::size_t i = 0; i < carried.size(); ++i) result.carried.push_back(std::move(*next++));
  for (; next != outputs->end(); ++next) {
    if (!next->isTensor()) return invalid("a scan output of the body is " + std::string(kindText(*next)));
    result.collected.push_back(next->value);
  }
  return std::optional(std::move(result));
}

std::int64_t countNodes(const Graph& graph) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes) {
    ++count;
    for (const Attribute& attribute : node.attributes)
      for (const Graph& inner : attribute.graphs) count += countNodes(inner);
  }
  return count;
}

// Values of one type, stacked along a new first dimension.
Result<Value> stack(NodeContext& node, const Values& rows) {
  Values parts;
  for (Value row : rows) {
    if (row.getType() != rows.front().getType())
      return fail(Code::kUnimplemented, "a scan output changes its type between iterations");
    Shape shape = dimsOf(row);
    shape.insert(shape.begin(), 1);
    KILN_ASSIGN(Value part, node.reshape(row, shape));
    parts.push_back(part);
  }
  if (parts.size() == 1) return parts.front();
  return node.concat(parts, 0);
}

// Unrolled; nullopt when that needs more than `limit` iterations, or a value that is known at run time only:
// `open`.
Result<std::optional<Items>> unroll(NodeContext& node, const Repeat& repeat, std::int64_t limit,
                                    Value& open) {
  std::optional<double> trip;
  if (repeat.trip && !(trip = NodeContext::constantScalar(repeat.trip))) {
    open = repeat.trip;
    return std::optional<Items>();
  }
  if (trip && *trip > static_cast<double>(limit)) return std::optional<Items>();
  std::optional<Items> result;
  auto make = [&]() -> Result<bool> {
    Items carried = repeat.carried;
    std::vector<Values> collected(repeat.scans);
    Value condition = repeat.condition;
    for (std::int64_t i = 0; !trip || static_cast<double>(i) < *trip; ++i) {
      if (condition) {
        auto known = NodeContext::constantScalar(condition);
        if (!known) {
          if (i == 0) open = condition;
          return false;
        }
        if (*known == 0) break;
      }
      if (i == limit) return false;
      KILN_ASSIGN(Value number, node.reshape(node.integerList({i}), Dims{}));
      KILN_ASSIGN(auto step, iterate(node, repeat, number, carried, std::to_string(i)));
      if (!step) {
        result = poisoned(node);
        return true;
      }
      carried = std::move(step->carried);
      if (repeat.condition) condition = step->condition;
      for (std::size_t k = 0; k < repeat.scans; ++k) collected[k].push_back(step->collected[k]);
    }
    for (const Values& rows : collected) {
      if (rows.empty())
        return fail(Code::kUnimplemented,
                    "the loop has no iterations, so a scan output has no elements: not served");
      KILN_ASSIGN(Value stacked, stack(node, rows));
      carried.push_back(Item::tensor(stacked));
    }
    result = std::move(carried);
    return true;
  };
  KILN_ASSIGN(const bool done, node.attempt(make));
  if (!done) result.reset();
  return result;
}

// As kiln.loop.
Result<Items> roll(NodeContext& node, const Repeat& repeat) {
  GraphBuilder::LoopLimits limits{repeat.trip, repeat.condition, repeat.maxTrips};
  if (repeat.scans > 0 && limits.maxTrips == Dim(0)) {
    if (!repeat.trip)
      return fail(Code::kUnimplemented,
                  "nothing bounds the size of the scan outputs of a loop without a trip count; give it one");
    auto trips = NodeContext::symbolicIntegers(repeat.trip);
    const auto range = trips && trips->size() == 1 ? node.rangeOf(trips->front()) : std::nullopt;
    if (!range || range->min < 0 || range->max > kMaxTrips)
      return NodeContext::notConstant("the trip count, or a bound of it, of a loop with scan outputs",
                                      repeat.trip);
    limits.maxTrips = trips->front();
  }
  Values inits;
  flatten(repeat.carried, inits);
  auto body = [&](Value iteration, const Values& values) -> GraphBuilder::Yielded {
    llvm::ArrayRef<Value> tensors = values;
    KILN_ASSIGN(auto step, iterate(node, repeat, iteration, rebuild(repeat.carried, tensors), ""));
    if (!step) return std::optional<Values>();
    if (!sameForm(step->carried, repeat.carried))
      return NodeContext::notConstant(
          "the number of iterations, of a loop that changes the length of a sequence,",
          repeat.trip ? repeat.trip : repeat.condition);
    Values yields;
    if (repeat.condition) yields.push_back(step->condition);
    flatten(step->carried, yields);
    llvm::append_range(yields, step->collected);
    return std::optional(std::move(yields));
  };
  KILN_ASSIGN(auto results, node.loop(limits, inits, body));
  if (!results) return poisoned(node);
  llvm::ArrayRef<Value> tensors = *results;
  Items items = rebuild(repeat.carried, tensors);
  // Where a condition can end the loop, a run finds out how many rows were written.
  const bool open = results->back().getDefiningOp<ir::LoopOp>().getCondition() != nullptr;
  const std::int64_t symbol = open && repeat.scans > 0 ? node.newSymbol() : 0;
  for (Value collected : tensors.drop_back()) {
    if (open) {
      KILN_ASSIGN(collected, node.truncate(collected, results->back(), 0, symbol));
    }
    items.push_back(Item::tensor(collected));
  }
  return items;
}

// Carried values and collected ones, stacked along their first dimension.
Result<Items> run(NodeContext& node, const Repeat& repeat) {
  const bool hasSequence = llvm::any_of(repeat.carried, [](const Item& item) { return !item.isTensor(); });
  const std::int64_t limit =
      hasSequence ? kMaxSequenceTrips
                  : std::min(kMaxUnrolledTrips,
                             kMaxUnrolledNodes / std::max<std::int64_t>(1, countNodes(repeat.body)));
  Value open;
  KILN_ASSIGN(auto unrolled, unroll(node, repeat, limit, open));
  if (unrolled) return std::move(*unrolled);
  KILN_ASSIGN(Items rolled, roll(node, repeat));
  // What the body lacks is often a constant that it would have in an unrolled loop.
  if (open && llvm::any_of(rolled, [](const Item& item) { return item.isPoisoned(); }))
    return NodeContext::notConstant("the trip count or the condition of a loop with such a body", open);
  return rolled;
}

Result<Items> importLoop(NodeContext& node) {
  KILN_ASSIGN(const Graph* body, node.graph("body"));
  const std::size_t carried = std::max<std::size_t>(node.inputCount(), 2) - 2;
  if (body->inputs.size() != carried + 2)
    return invalid("the body has " + std::to_string(body->inputs.size()) + " inputs; the node carries " +
                   std::to_string(carried) + " values, which asks for " + std::to_string(carried + 2));
  if (body->outputs.size() < carried + 1)
    return invalid("the body has " + std::to_string(body->outputs.size()) + " outputs; the node carries " +
                   std::to_string(carried) + " values, which asks for " + std::to_string(carried + 1) +
                   " or more");
  Repeat repeat{*body, {}, {}, {}, Dim(0), true, body->outputs.size() - carried - 1, {}};
  if (node.hasInput(0)) {
    KILN_ASSIGN(repeat.trip, oneInteger(node, node.inputs()[0], 64, "the trip count"));
  }
  if (node.hasInput(1)) {
    KILN_ASSIGN(repeat.condition, oneInteger(node, node.inputs()[1], 1, "the condition"));
  }
  if (!repeat.trip && !repeat.condition)
    return invalid("the loop never ends: it has neither trip count nor condition");
  for (std::size_t i = 2; i < node.inputCount(); ++i) {
    if (node.items()[i].isAbsent()) return invalid("carried value " + std::to_string(i - 2) + " is missing");
    repeat.carried.push_back(node.items()[i]);
  }
  repeat.inputs = [&](Value iteration, const Items& values) -> Result<Items> {
    // An iteration runs only while the condition is true.
    Items inputs{Item::tensor(iteration),
                 Item::tensor(node.scalar(mlir::IntegerType::get(node.context(), 1), 1))};
    inputs.insert(inputs.end(), values.begin(), values.end());
    return inputs;
  };
  return run(node, repeat);
}

// Row `iteration` of `input` along `axis`, from the end if `reverse`; the dimension vanishes.
Result<Value> row(NodeContext& node, Value input, Value iteration, std::int64_t axis, bool reverse) {
  Shape shape = dimsOf(input);
  if (auto number = NodeContext::constantScalar(iteration)) {
    const auto at = static_cast<std::int64_t>(*number);
    Dims offsets(shape.size(), 0), strides(shape.size(), 1);
    offsets[axis] = reverse ? shape[axis].value() - 1 - at : at;
    shape[axis] = 1;
    KILN_ASSIGN(Value slice, node.slice(input, offsets, strides, shape));
    shape.erase(shape.begin() + axis);
    return node.reshape(slice, shape);
  }
  if (reverse) {
    KILN_ASSIGN(Value last, node.reshape(node.shapeValue({shape[axis] - Dim(1)}), Dims{}));
    KILN_ASSIGN(iteration, node.binary(ir::BinaryKind::Sub, last, iteration));
  }
  return node.gather(input, iteration, axis);
}

Result<Value> reversed(NodeContext& node, Value input, std::int64_t axis) {
  const Shape shape = dimsOf(input);
  Shape offsets(shape.size(), Dim(0));
  Dims strides(shape.size(), 1);
  offsets[axis] = shape[axis] - Dim(1);
  strides[axis] = -1;
  return node.symbolicSlice(input, offsets, strides, shape);
}

// The attributes of Scan, one entry per scan input or output.
struct ScanForm {
  Dims inputAxes, inputDirections, outputAxes, outputDirections;
};

// Scan as of version 9: states and collected outputs.
Result<Items> scan(NodeContext& node, const Graph& body, const Items& states, const Values& inputs,
                   const ScanForm& form) {
  Dim trips = 0;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    const Dim extent = dimsOf(input)[form.inputAxes[i]];
    if (i > 0 && !(extent == trips))
      return unfit(
          "scan inputs have different lengths, " + node.describe(trips) + " and " + node.describe(extent),
          {extent, trips});
    trips = extent;
  }
  Repeat repeat{body, {}, {}, states, trips, false, body.outputs.size() - states.size(), {}};
  KILN_ASSIGN(repeat.trip, node.reshape(node.shapeValue({trips}), Dims{}));
  repeat.inputs = [&](Value iteration, const Items& carried) -> Result<Items> {
    Items all = carried;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      KILN_ASSIGN(Value part,
                  row(node, inputs[i], iteration, form.inputAxes[i], form.inputDirections[i] == 1));
      all.push_back(Item::tensor(part));
    }
    return all;
  };
  KILN_ASSIGN(Items results, run(node, repeat));
  for (std::size_t i = 0; i < repeat.scans; ++i) {
    Item& item = results[states.size() + i];
    if (!item.isTensor()) continue;
    if (form.outputDirections[i] == 1) {
      KILN_ASSIGN(item.value, reversed(node, item.value, 0));
    }
    KILN_ASSIGN(const std::int64_t axis, normalAxis(form.outputAxes[i], rankOf(item.value)));
    if (axis == 0) continue;
    Dims permutation;
    for (std::int64_t dim = 1; dim < rankOf(item.value); ++dim) permutation.push_back(dim);
    permutation.insert(permutation.begin() + axis, 0);
    KILN_ASSIGN(item.value, node.transpose(item.value, permutation));
  }
  return results;
}

struct ScanOperands {
  const Graph* body = nullptr;
  Items states;
  Values inputs;
};
// The operands from input `first` on.
Result<ScanOperands> scanOperands(NodeContext& node, std::size_t first) {
  ScanOperands operands;
  KILN_ASSIGN(operands.body, node.graph("body"));
  KILN_ASSIGN(const std::int64_t count, node.integer("num_scan_inputs", 0));
  const auto all = static_cast<std::int64_t>(node.inputCount()) - static_cast<std::int64_t>(first);
  if (count < 1 || count > all) return invalid("num_scan_inputs is " + std::to_string(count));
  for (std::size_t i = first; i < node.inputCount(); ++i) {
    KILN_ASSIGN(Value value, node.input(i));
    const bool isState = static_cast<std::int64_t>(i - first) < all - count;
    if (isState)
      operands.states.push_back(Item::tensor(value));
    else
      operands.inputs.push_back(value);
  }
  if (static_cast<std::int64_t>(operands.body->inputs.size()) != all)
    return invalid("the body has " + std::to_string(operands.body->inputs.size()) +
                   " inputs, the node gives it " + std::to_string(all));
  if (operands.body->outputs.size() < operands.states.size())
    return invalid("the body has fewer outputs than the node has states");
  return operands;
}

Result<Dims> perOperand(NodeContext& node, std::string_view name, std::size_t count) {
  KILN_ASSIGN(Dims values, node.integers(name, Dims(count, 0)));
  if (values.size() != count)
    return invalid("attribute '" + std::string(name) + "' has " + std::to_string(values.size()) +
                   " entries, expected " + std::to_string(count));
  return values;
}

Result<Items> importScan(NodeContext& node) {
  KILN_ASSIGN(const ScanOperands operands, scanOperands(node, 0));
  const std::size_t outputs = operands.body->outputs.size() - operands.states.size();
  ScanForm form;
  KILN_ASSIGN(form.inputAxes, perOperand(node, "scan_input_axes", operands.inputs.size()));
  KILN_ASSIGN(form.inputDirections, perOperand(node, "scan_input_directions", operands.inputs.size()));
  KILN_ASSIGN(form.outputAxes, perOperand(node, "scan_output_axes", outputs));
  KILN_ASSIGN(form.outputDirections, perOperand(node, "scan_output_directions", outputs));
  for (auto [axis, input] : llvm::zip_equal(form.inputAxes, operands.inputs)) {
    KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
  }
  return scan(node, *operands.body, operands.states, operands.inputs, form);
}

// Version 8: every operand has a batch dimension in front, the body sees one element of it.
Result<Items> importBatchedScan(NodeContext& node) {
  if (node.hasInput(0)) return fail(Code::kUnimplemented, "sequence_lens are not served");
  KILN_ASSIGN(const ScanOperands operands, scanOperands(node, 1));
  const std::size_t outputs = operands.body->outputs.size() - operands.states.size();
  const Dims inputZeros(operands.inputs.size(), 0), outputZeros(outputs, 0);
  ScanForm form{inputZeros, {}, outputZeros, outputZeros};
  KILN_ASSIGN(form.inputDirections, perOperand(node, "directions", operands.inputs.size()));
  Values all;
  flatten(operands.states, all);
  llvm::append_range(all, operands.inputs);
  for (Value value : all) {
    if (rankOf(value) == 0) return invalid("an operand has no batch dimension");
    const Dim mine = dimsOf(value)[0], first = dimsOf(all.front())[0];
    if (!(mine == first)) return unfit("the batch sizes differ", {mine, first});
  }
  for (Value input : operands.inputs)
    if (rankOf(input) < 2) return invalid("a scan input needs a batch and a sequence dimension");
  const Dim batches = dimsOf(all.front())[0];
  auto one = [&](Value number) -> Result<Items> {
    Items states;
    Values inputs;
    for (auto [i, value] : llvm::enumerate(all)) {
      KILN_ASSIGN(Value part, row(node, value, number, 0, false));
      if (i < operands.states.size())
        states.push_back(Item::tensor(part));
      else
        inputs.push_back(part);
    }
    return scan(node, *operands.body, states, inputs, form);
  };
  Items results;
  if (!batches.isStatic() || batches.value() > kMaxUnrolledTrips) {
    KILN_ASSIGN(Value trip, node.reshape(node.shapeValue({batches}), Dims{}));
    auto body = [&](Value number, const Values&) -> GraphBuilder::Yielded {
      KILN_ASSIGN(const Items made, one(number));
      if (llvm::any_of(made, [](const Item& item) { return !item.isTensor(); }))
        return std::optional<Values>();
      Values rows;
      flatten(made, rows);
      return std::optional(std::move(rows));
    };
    KILN_ASSIGN(auto rows, node.loop({trip, {}, batches}, {}, body));
    if (!rows) return poisoned(node);
    for (Value stacked : llvm::ArrayRef(*rows).drop_back()) results.push_back(Item::tensor(stacked));
    return results;
  }
  std::vector<Values> rows(operands.body->outputs.size());
  for (std::int64_t batch = 0; batch < batches.value(); ++batch) {
    KILN_ASSIGN(Value number, node.reshape(node.integerList({batch}), Dims{}));
    KILN_ASSIGN(const Items made, one(number));
    for (auto [k, result] : llvm::enumerate(made)) {
      if (!result.isTensor()) return poisoned(node);
      rows[k].push_back(result.value);
    }
  }
  for (const Values& parts : rows) {
    KILN_ASSIGN(Value stacked, stack(node, parts));
    results.push_back(Item::tensor(stacked));
  }
  return results;
}

constexpr Operator kRows[] = {
    {"", "If", 1, kMaxOpset, nullptr, importIf},
    {"", "Loop", 1, kMaxOpset, nullptr, importLoop},
    {"", "Scan", 8, 8, nullptr, importBatchedScan},
    {"", "Scan", 9, kMaxOpset, nullptr, importScan},
};

}  // namespace

std::span<const Operator> controlFlowOperators() {
  return kRows;
}

}  // namespace kiln::onnx
