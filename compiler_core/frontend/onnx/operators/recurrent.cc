// RNN, GRU and LSTM: the products with the inputs of all steps at once, then a loop over the steps.
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMaxUnrolledSteps = 4;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

//===-- Activations
//---------------------------------------------------------------------------------------------===//

enum class Function {
  kRelu,
  kTanh,
  kSigmoid,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus
};
struct FunctionForm {
  std::string_view name;  // in lower case
  Function function;
  bool hasAlpha = false, hasBeta = false;
  float alpha = 0, beta = 0;  // where the node gives none
};
constexpr FunctionForm kFunctions[] = {
    {"relu", Function::kRelu},
    {"tanh", Function::kTanh},
    {"sigmoid", Function::kSigmoid},
    {"affine", Function::kAffine, true, true, 1, 0},
    {"leakyrelu", Function::kLeakyRelu, true, false, 0.01f},
    {"thresholdedrelu", Function::kThresholdedRelu, true, false, 1},
    {"scaledtanh", Function::kScaledTanh, true, true, 1, 1},
    {"hardsigmoid", Function::kHardSigmoid, true, true, 0.2f, 0.5f},
    {"elu", Function::kElu, true, false, 1},
    {"softsign", Function::kSoftsign},
    {"softplus", Function::kSoftplus},
};

struct Activation {
  Function function = Function::kTanh;
  double alpha = 0, beta = 0;
};

// Expressions over values of one element type. The first failure stays: every later value is null.
class Math {
 public:
  explicit Math(NodeContext& node) : node_(node) {}

  Value unary(ir::UnaryKind kind, Value x) { return x ? take(node_.unary(kind, x)) : Value(); }
  Value binary(ir::BinaryKind kind, Value x, Value y) {
    return x && y ? take(node_.binary(kind, x, y)) : Value();
  }
  Value add(Value x, Value y) { return binary(ir::BinaryKind::Add, x, y); }
  Value subtract(Value x, Value y) { return binary(ir::BinaryKind::Sub, x, y); }
  Value multiply(Value x, Value y) { return binary(ir::BinaryKind::Mul, x, y); }
  Value number(Value like, double value) { return like ? node_.scalar(elementOf(like), value) : Value(); }
  Value product(Value x, Value y) { return x && y ? take(node_.matmul(x, y)) : Value(); }
  Value select(Value condition, Value x, Value y) {
    return condition && x && y ? take(node_.select(condition, x, y)) : Value();
  }
  Value limit(Value x, double low, double high) {
    return binary(ir::BinaryKind::Min, binary(ir::BinaryKind::Max, x, number(x, low)), number(x, high));
  }
  // Columns [from, from + count) of a matrix.
  Value columns(Value x, std::int64_t from, std::int64_t count) {
    if (!x) return {};
    Shape shape = dimsOf(x);
    shape.back() = count;
    Dims offsets(shape.size(), 0);
    offsets.back() = from;
    return take(node_.slice(x, offsets, Dims(shape.size(), 1), shape));
  }
  Value take(Result<Value> result) {
    if (result) return *result;
    if (status_) status_ = fail(result.error());
    return {};
  }
  Status status() const { return status_; }

  Value apply(const Activation& f, Value x) {
    Value zero = number(x, 0), one = number(x, 1);
    auto scaled = [&] { return multiply(number(x, f.alpha), x); };
    auto compare = [&](Value limit) {
      return x && limit ? take(node_.compare(ir::CompareKind::Gt, x, limit)) : Value();
    };
    switch (f.function) {
      case Function::kRelu:
        return unary(ir::UnaryKind::Relu, x);
      case Function::kTanh:
        return unary(ir::UnaryKind::Tanh, x);
      case Function::kSigmoid:
        return unary(ir::UnaryKind::Sigmoid, x);
      case Function::kAffine:
        return add(scaled(), number(x, f.beta));
      case Function::kLeakyRelu:
        return select(compare(zero), x, scaled());
      case Function::kThresholdedRelu:
        return select(compare(number(x, f.alpha)), x, zero);
      case Function::kScaledTanh:
        return multiply(number(x, f.alpha), unary(ir::UnaryKind::Tanh, multiply(number(x, f.beta), x)));
      case Function::kHardSigmoid:
        return limit(add(scaled(), number(x, f.beta)), 0, 1);
      case Function::kElu: {
        Value power = unary(ir::UnaryKind::Exp, binary(ir::BinaryKind::Min, x, zero));
        return select(compare(zero), x, multiply(number(x, f.alpha), subtract(power, one)));
      }
      case Function::kSoftsign:
        return binary(ir::BinaryKind::Div, x, add(one, unary(ir::UnaryKind::Abs, x)));
      case Function::kSoftplus: {
        // log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)): never exp of a large number.
        Value power = unary(ir::UnaryKind::Exp, unary(ir::UnaryKind::Neg, unary(ir::UnaryKind::Abs, x)));
        return add(unary(ir::UnaryKind::Relu, x), unary(ir::UnaryKind::Log, add(one, power)));
      }
    }
    return {};
  }

 private:
  NodeContext& node_;
  Status status_;
};

//===-- Operands
//------------------------------------------------------------------------------------------------===//

enum class Cell { kRnn, kGru, kLstm };
struct CellForm {
  Cell cell;
  std::int64_t gates;
  std::vector<std::string_view> activations;  // the defaults
  std::size_t states;
};

CellForm formOf(llvm::StringRef op) {
  if (op == "RNN") return {Cell::kRnn, 1, {"Tanh"}, 1};
  if (op == "GRU") return {Cell::kGru, 3, {"Sigmoid", "Tanh"}, 1};
  return {Cell::kLstm, 4, {"Sigmoid", "Tanh", "Tanh"}, 2};
}

struct Options {
  CellForm form;
  std::int64_t directions = 1, hidden = 0;
  bool reverse = false, batchFirst = false, linearBeforeReset = false, inputForget = false;
  std::optional<double> clip;
  std::vector<Activation> activations;  // form.activations.size() per direction
};

// Each function takes the next alpha and beta if it has such a parameter.
Status readActivations(NodeContext& node, Options& options) {
  std::vector<std::string> names;
  for (std::int64_t d = 0; d < options.directions; ++d)
    names.insert(names.end(), options.form.activations.begin(), options.form.activations.end());
  if (node.hasAttribute("activations")) {
    KILN_ASSIGN(const std::vector<std::string_view> given, node.texts("activations"));
    if (given.size() != names.size())
      return invalid("attribute 'activations' has " + std::to_string(given.size()) + " entries, expected " +
                     std::to_string(names.size()));
    names.assign(given.begin(), given.end());
  }
  KILN_ASSIGN(const std::vector<float> alphas, node.reals("activation_alpha", {}));
  KILN_ASSIGN(const std::vector<float> betas, node.reals("activation_beta", {}));
  auto alpha = alphas.begin(), beta = betas.begin();
  for (const std::string& name : names) {
    const auto* row = llvm::find_if(
        kFunctions, [&](const FunctionForm& f) { return llvm::StringRef(name).equals_insensitive(f.name); });
    if (row == std::end(kFunctions)) return invalid("there is no activation '" + name + "'");
    Activation activation{row->function, row->alpha, row->beta};
    if (row->hasAlpha && alpha != alphas.end()) activation.alpha = *alpha++;
    if (row->hasBeta && beta != betas.end()) activation.beta = *beta++;
    options.activations.push_back(activation);
  }
  return {};
}

Result<Options> readOptions(NodeContext& node) {
  Options options{formOf(node.op())};
  KILN_ASSIGN(const std::string direction, node.text("direction", "forward"));
  if (direction == "bidirectional")
    options.directions = 2;
  else if (direction == "reverse")
    options.reverse = true;
  else if (direction != "forward")
    return invalid("there is no direction '" + direction + "'");
  KILN_ASSIGN(Value recurrence, node.input(2));
  const Shape shape = dimsOf(recurrence);
  if (shape.size() != 3 || !ir::isStatic(shape)) return invalid("R has no static shape of rank 3");
  KILN_ASSIGN(options.hidden, node.integer("hidden_size", shape[2].value()));
  KILN_ASSIGN(const std::int64_t layout,
              node.opset() >= 14 ? node.integer("layout", 0) : Result<std::int64_t>(0));
  options.batchFirst = layout != 0;
  if (node.hasAttribute("clip")) {
    KILN_ASSIGN(const float clip, node.real("clip", 0));
    options.clip = clip;
  }
  if (options.form.cell == Cell::kGru) {
    KILN_ASSIGN(const std::int64_t linear, node.integer("linear_before_reset", 0));
    options.linearBeforeReset = linear != 0;
  }
  if (options.form.cell == Cell::kLstm) {
    KILN_ASSIGN(const std::int64_t coupled, node.integer("input_forget", 0));
    options.inputForget = coupled != 0;
  }
  KILN_TRY(readActivations(node, options));
  return options;
}

// Input `index` if it is there, after a check of its shape.
Result<Value> operand(NodeContext& node, std::size_t index, std::string_view name, const Shape& shape) {
  if (!node.hasInput(index)) return Value();
  Value value = node.inputs()[index];
  const Shape given = dimsOf(value);
  if (given.size() != shape.size() || !(given == shape)) {
    Shape both(given);
    both.append(shape.begin(), shape.end());
    const std::string message =
        std::string(name) + " has shape " + node.describe(given) + ", expected " + node.describe(shape);
    return given.size() == shape.size() ? unfit(message, both) : invalid(message);
  }
  return value;
}

// Index `at` of the first dimension, which vanishes.
Result<Value> part(NodeContext& node, Value value, std::int64_t at) {
  Shape shape = dimsOf(value);
  shape[0] = 1;
  Dims offsets(shape.size(), 0);
  offsets[0] = at;
  KILN_ASSIGN(Value slice, node.slice(value, offsets, Dims(shape.size(), 1), shape));
  shape.erase(shape.begin());
  return node.reshape(slice, shape);
}

//===-- One direction
//-------------------------------------------------------------------------------------------===//

struct Direction {
  bool reverse = false;
  Value projected;   // [T, B, gates * H]: the inputs' products, with what can be added beforehand
  Value recurrence;  // [H, gates * H]
  Value resetBias;   // [H]: GRU with linear_before_reset
  Value peepholes;   // [3 * H] or null: input, output, forget
  Value lengths;     // [B, 1] i64 or null
  Values states;     // [B, H] each
  llvm::ArrayRef<Activation> activations;
};

// One step: `x` [B, gates * H] and the states become the next states.
class Step {
 public:
  Step(NodeContext& node, const Options& options, const Direction& direction)
      : math_(node), options_(options), d_(direction) {}

  Result<Values> run(Value x, const Values& states) {
    Values next;
    switch (options_.form.cell) {
      case Cell::kRnn:
        next = {activate(0, math_.add(x, math_.product(states[0], d_.recurrence)))};
        break;
      case Cell::kGru:
        next = {gru(x, states[0])};
        break;
      case Cell::kLstm:
        next = lstm(x, states[0], states[1]);
        break;
    }
    KILN_TRY(math_.status());
    return next;
  }

 private:
  Value gate(Value x, std::int64_t index) {
    return math_.columns(x, index * options_.hidden, options_.hidden);
  }
  Value activate(std::size_t index, Value x) {
    if (options_.clip) x = math_.limit(x, -*options_.clip, *options_.clip);
    return math_.apply(d_.activations[index], x);
  }
  // Gates update, reset, hidden.
  Value gru(Value x, Value h) {
    const std::int64_t hidden = options_.hidden;
    Value candidate, z, r;
    if (options_.linearBeforeReset) {
      Value back = math_.product(h, d_.recurrence);
      z = activate(0, math_.add(gate(x, 0), gate(back, 0)));
      r = activate(0, math_.add(gate(x, 1), gate(back, 1)));
      Value part = gate(back, 2);
      if (d_.resetBias) part = math_.add(part, d_.resetBias);
      candidate = activate(1, math_.add(gate(x, 2), math_.multiply(r, part)));
    } else {
      Value back = math_.product(h, math_.columns(d_.recurrence, 0, 2 * hidden));
      z = activate(0, math_.add(gate(x, 0), gate(back, 0)));
      r = activate(0, math_.add(gate(x, 1), gate(back, 1)));
      Value part = math_.product(math_.multiply(r, h), math_.columns(d_.recurrence, 2 * hidden, hidden));
      candidate = activate(1, math_.add(gate(x, 2), part));
    }
    return math_.add(math_.multiply(math_.subtract(math_.number(z, 1), z), candidate), math_.multiply(z, h));
  }
  // Gates input, output, forget, cell.
  Values lstm(Value x, Value h, Value c) {
    Value all = math_.add(x, math_.product(h, d_.recurrence));
    auto peep = [&](Value sum, std::int64_t index, Value state) {
      if (!d_.peepholes) return sum;
      return math_.add(
          sum, math_.multiply(math_.columns(d_.peepholes, index * options_.hidden, options_.hidden), state));
    };
    Value i = activate(0, peep(gate(all, 0), 0, c));
    Value f =
        options_.inputForget ? math_.subtract(math_.number(i, 1), i) : activate(0, peep(gate(all, 2), 2, c));
    Value next = math_.add(math_.multiply(f, c), math_.multiply(i, activate(1, gate(all, 3))));
    Value o = activate(0, peep(gate(all, 1), 1, next));
    return {math_.multiply(o, math_.apply(d_.activations[2], next)), next};
  }

  Math math_;
  const Options& options_;
  const Direction& d_;
};

Result<Value> backwards(NodeContext& node, Value value) {
  const Shape shape = dimsOf(value);
  Shape offsets(shape.size(), Dim(0));
  Dims strides(shape.size(), 1);
  offsets[0] = shape[0] - Dim(1);
  strides[0] = -1;
  return node.symbolicSlice(value, offsets, strides, shape);
}

// All steps: {the hidden states of all steps [T, B, H], the last states...}.
Result<Values> runDirection(NodeContext& node, const Options& options, const Direction& direction) {
  const Dim steps = dimsOf(direction.projected)[0];
  Math math(node);
  // The step's place in time, a scalar i64; the states are kept where a sequence has ended, its output is
  // zero.
  auto step = [&](Value x, Value time, const Values& states) -> Result<Values> {
    KILN_ASSIGN(Values next, Step(node, options, direction).run(x, states));
    Value output = next[0];
    if (direction.lengths) {
      KILN_ASSIGN(Value running, node.compare(ir::CompareKind::Lt, time, direction.lengths));
      output = math.select(running, output, math.number(output, 0));
      for (std::size_t k = 0; k < next.size(); ++k) next[k] = math.select(running, next[k], states[k]);
      KILN_TRY(math.status());
    }
    next.push_back(output);
    return next;
  };
  Values states = direction.states;
  if (steps.isStatic() && steps.value() <= kMaxUnrolledSteps) {
    const auto count = steps.value();
    Values outputs(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = direction.reverse ? count - 1 - i : i;
      KILN_ASSIGN(Value x, part(node, direction.projected, at));
      KILN_ASSIGN(Value time, node.reshape(node.integerList({at}), Dims{}));
      KILN_ASSIGN(Values next, step(x, time, states));
      Shape row = dimsOf(next.back());
      row.insert(row.begin(), 1);
      KILN_ASSIGN(outputs[static_cast<std::size_t>(at)], node.reshape(next.back(), row));
      next.pop_back();
      states = std::move(next);
    }
    KILN_ASSIGN(Value all, outputs.size() == 1 ? Result<Value>(outputs[0]) : node.concat(outputs, 0));
    Values results{all};
    results.append(states);
    return results;
  }
  KILN_ASSIGN(Value trip, node.reshape(node.shapeValue({steps}), Dims{}));
  auto body = [&](Value iteration, const Values& carried) -> GraphBuilder::Yielded {
    Value time = iteration;
    if (direction.reverse) {
      KILN_ASSIGN(Value last, node.reshape(node.shapeValue({steps - Dim(1)}), Dims{}));
      KILN_ASSIGN(time, node.binary(ir::BinaryKind::Sub, last, iteration));
    }
    KILN_ASSIGN(Value x, node.gather(direction.projected, time, 0));
    KILN_ASSIGN(Values next, step(x, time, carried));
    return std::optional(std::move(next));
  };
  KILN_ASSIGN(auto results, node.loop({trip, {}, steps}, states, body));
  Values all = std::move(*results);
  all.pop_back();  // the number of steps
  Value outputs = all.pop_back_val();
  if (direction.reverse) {
    KILN_ASSIGN(outputs, backwards(node, outputs));
  }
  all.insert(all.begin(), outputs);
  return all;
}

//===-- The operator
//--------------------------------------------------------------------------------------------===//

struct Operands {
  Value x, w, r, bias, lengths, peepholes;  // x is [T, B, I]; null where absent
  Values states;                            // [D, B, H]
};

Result<Operands> readOperands(NodeContext& node, const Options& options) {
  Operands all;
  KILN_ASSIGN(all.x, node.input(0));
  KILN_ASSIGN(all.w, node.input(1));
  if (rankOf(all.x) != 3 || !isFloat(all.x)) return invalid("X is no float tensor of rank 3");
  if (options.batchFirst) {
    KILN_ASSIGN(all.x, node.transpose(all.x, {1, 0, 2}));
  }
  const Shape shape = dimsOf(all.x);
  const Dim batch = shape[1], d = options.directions, h = options.hidden, gates = options.form.gates;
  KILN_TRY(operand(node, 1, "W", {d, gates * h, shape[2]}));
  KILN_ASSIGN(all.r, operand(node, 2, "R", {d, gates * h, h}));
  KILN_ASSIGN(all.bias, operand(node, 3, "B", {d, gates * h * Dim(2)}));
  KILN_ASSIGN(all.lengths, operand(node, 4, "sequence_lens", {batch}));
  for (std::size_t i = 0; i < options.form.states; ++i) {
    const Shape form = options.batchFirst ? Shape{batch, d, h} : Shape{d, batch, h};
    KILN_ASSIGN(Value state, operand(node, 5 + i, "an initial state", form));
    if (!state) {
      KILN_ASSIGN(state, node.filled(elementOf(all.x), ShapeArg({d, batch, h}), 0));
    } else if (options.batchFirst) {
      KILN_ASSIGN(state, node.transpose(state, {1, 0, 2}));
    }
    all.states.push_back(state);
  }
  if (options.form.cell == Cell::kLstm) {
    KILN_ASSIGN(all.peepholes, operand(node, 7, "P", {d, h * Dim(3)}));
  }
  if (all.lengths) {
    KILN_ASSIGN(all.lengths, node.cast(all.lengths, mlir::IntegerType::get(node.context(), 64)));
    KILN_ASSIGN(all.lengths, node.reshape(all.lengths, {batch, Dim(1)}));
  }
  return all;
}

Result<Direction> makeDirection(NodeContext& node, const Options& options, const Operands& all,
                                std::int64_t index) {
  const std::int64_t h = options.hidden, gates = options.form.gates;
  Direction result;
  result.reverse = options.reverse || index == 1;
  result.lengths = all.lengths;
  const std::size_t count = options.form.activations.size();
  result.activations =
      llvm::ArrayRef(options.activations).slice(static_cast<std::size_t>(index) * count, count);
  for (Value state : all.states) {
    KILN_ASSIGN(Value own, part(node, state, index));
    result.states.push_back(own);
  }
  KILN_ASSIGN(Value w, part(node, all.w, index));
  KILN_ASSIGN(w, node.transpose(w, {1, 0}));
  KILN_ASSIGN(result.recurrence, part(node, all.r, index));
  KILN_ASSIGN(result.recurrence, node.transpose(result.recurrence, {1, 0}));
  if (all.peepholes) {
    KILN_ASSIGN(result.peepholes, part(node, all.peepholes, index));
  }
  const Shape shape = dimsOf(all.x);
  KILN_ASSIGN(Value rows, node.reshape(all.x, {shape[0] * shape[1], shape[2]}));
  KILN_ASSIGN(Value projected, node.matmul(rows, w));
  if (all.bias) {
    KILN_ASSIGN(Value both, part(node, all.bias, index));
    Math math(node);
    Value own = math.columns(both, 0, gates * h), back = math.columns(both, gates * h, gates * h);
    if (options.linearBeforeReset) {
      // The last gate's is multiplied by the reset gate and waits for it.
      result.resetBias = math.columns(back, 2 * h, h);
      Value zeros = node.splat(elementOf(both), {h}, 0);
      KILN_TRY(math.status());
      KILN_ASSIGN(back, node.concat({math.columns(back, 0, 2 * h), zeros}, 0));
    }
    projected = math.add(projected, math.add(own, back));
    KILN_TRY(math.status());
  }
  KILN_ASSIGN(result.projected, node.reshape(projected, {shape[0], shape[1], Dim(gates * h)}));
  return result;
}

// The directions' values side by side along a new dimension `axis`.
Result<Value> sideBySide(NodeContext& node, const Values& values, std::int64_t axis) {
  Values parts;
  for (Value value : values) {
    Shape shape = dimsOf(value);
    shape.insert(shape.begin() + axis, 1);
    KILN_ASSIGN(Value part, node.reshape(value, shape));
    parts.push_back(part);
  }
  return parts.size() == 1 ? Result<Value>(parts.front()) : node.concat(parts, axis);
}

Result<Values> recurrent(NodeContext& node) {
  KILN_ASSIGN(const Options options, readOptions(node));
  KILN_ASSIGN(const Operands operands, readOperands(node, options));
  std::vector<Values> parts(options.form.states + 1);
  for (std::int64_t d = 0; d < options.directions; ++d) {
    KILN_ASSIGN(const Direction direction, makeDirection(node, options, operands, d));
    KILN_ASSIGN(const Values results, runDirection(node, options, direction));
    for (auto [part, result] : llvm::zip_equal(parts, results)) part.push_back(result);
  }
  Values results;
  for (auto [i, values] : llvm::enumerate(parts)) {
    // [T, D, B, H], then [D, B, H]; batch first: [B, T, D, H], [B, D, H].
    KILN_ASSIGN(Value result, sideBySide(node, values, i == 0 ? 1 : 0));
    if (options.batchFirst) {
      KILN_ASSIGN(result, i == 0 ? node.transpose(result, {2, 0, 1, 3}) : node.transpose(result, {1, 0, 2}));
    }
    results.push_back(result);
  }
  return results;
}

constexpr Operator kRows[] = {
    {"", "GRU", 7, kMaxOpset, recurrent},
    {"", "LSTM", 7, kMaxOpset, recurrent},
    {"", "RNN", 7, kMaxOpset, recurrent},
};

}  // namespace

std::span<const Operator> recurrentOperators() {
  return kRows;
}

}  // namespace kiln::onnx
