// Normalisations, and Dropout, which does nothing at inference.
#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

using ir::UnaryKind;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// The type in which statistics are made: stash_type, where the operator has it.
Result<mlir::Type> stashType(NodeContext& node) {
  KILN_ASSIGN(std::int64_t stash, node.integer("stash_type", 1));
  switch (stash) {
    case 1:
      return mlir::Type(mlir::Float32Type::get(node.context()));
    case 10:
      return mlir::Type(mlir::Float16Type::get(node.context()));
    case 11:
      return mlir::Type(mlir::Float64Type::get(node.context()));
    case 16:
      return mlir::Type(mlir::BFloat16Type::get(node.context()));
    default:
      return invalid("stash_type is " + std::to_string(stash));
  }
}

Dims range(std::int64_t from, std::int64_t to) {
  Dims axes;
  for (; from < to; ++from) axes.push_back(from);
  return axes;
}

// A vector of channels as [C, 1...], to meet dimension 1 of `rank` dimensions.
Term perChannel(NodeContext& node, Value vector, std::int64_t rank) {
  Shape shape = dimsOf(vector);
  if (shape.size() == 1) shape.append(static_cast<std::size_t>(std::max<std::int64_t>(0, rank - 2)), Dim(1));
  return Term(node, vector).reshape(shape);
}

}  // namespace

Normal normalized(const Term& x, llvm::ArrayRef<std::int64_t> axes, double epsilon) {
  const Term mean = x.mean(axes), centred = x - mean;
  const Term inverse = ((centred * centred).mean(axes) + epsilon).sqrt().unary(UnaryKind::Reciprocal);
  return {mean, inverse, centred * inverse};
}

namespace {

// Statistics over the batch and the positions; the running ones move towards them.
Result<Values> trainedBatchNorm(NodeContext& node, const Values& operands, float epsilon, float momentum) {
  const Value x = operands[0];
  const std::int64_t rank = rankOf(x);
  if (rank < 2) return invalid("the input has no channels");
  // Saved statistics are for gradients and have no agreed meaning.
  if (node.wantsOutput(3) || node.wantsOutput(4))
    return fail(Code::kUnimplemented, "the saved statistics of training are not served");
  const mlir::Type wide = calculationType(elementOf(x));
  Dims axes = range(2, rank);
  axes.insert(axes.begin(), 0);
  const Term input = Term(node, x).cast(wide), mean = input.mean(axes), centred = input - mean;
  const Term variance = (centred * centred).mean(axes);
  const Term unit = centred * (variance + epsilon).sqrt().unary(UnaryKind::Reciprocal);
  const Term scaled =
      unit * perChannel(node, operands[1], rank).cast(wide) + perChannel(node, operands[2], rank).cast(wide);
  KILN_ASSIGN(Value y, scaled.cast(elementOf(x)).value());
  Values results{y};
  for (std::size_t i = 1; i < 3; ++i) {
    if (!node.wantsOutput(i)) continue;
    const Value before = operands[2 + i];
    const Term now = (i == 1 ? mean : variance).reshape(dimsOf(before));
    KILN_ASSIGN(
        Value running,
        (Term(node, before).cast(wide) * momentum + now * (1.0 - momentum)).cast(elementOf(before)).value());
    results.resize(i);
    results.push_back(running);
  }
  return results;
}

Result<Values> batchNormalization(NodeContext& node) {
  KILN_ASSIGN(float epsilon, node.real("epsilon", 1e-5f));
  KILN_ASSIGN(float momentum, node.real("momentum", 0.9f));
  KILN_ASSIGN(std::int64_t spatial, node.opset() < 9 ? node.integer("spatial", 1) : Result<std::int64_t>(1));
  KILN_ASSIGN(std::int64_t isTest, node.opset() < 7 ? node.integer("is_test", 0) : Result<std::int64_t>(1));
  KILN_ASSIGN(std::int64_t trains,
              node.opset() >= 14 ? node.integer("training_mode", 0) : Result<std::int64_t>(0));
  Values operands;
  for (std::size_t i = 0; i < 5; ++i) {
    KILN_ASSIGN(Value operand, node.input(i));
    operands.push_back(operand);
  }
  // Before version 14 more outputs mean training.
  if (trains || (node.opset() < 14 && node.wantsOutput(1))) {
    if (!spatial) return fail(Code::kUnimplemented, "training with spatial=0 is not served");
    return trainedBatchNorm(node, operands, epsilon, momentum);
  }
  (void)isTest;  // with one output the result is the same
  const mlir::Type element = elementOf(operands[0]);
  if (rankOf(operands[0]) == 1) return fail(Code::kUnimplemented, "an input of rank 1 is not served");
  if (rankOf(operands[0]) > 1 && !dimsOf(operands[0])[1].isStatic())
    return fail(Code::kUnimplemented, "the number of channels must be known at compile time");
  if (spatial && llvm::all_of(operands, [&](Value v) { return elementOf(v) == element; })) {
    KILN_ASSIGN(Value result, node.batchNorm(operands, epsilon));
    return Values{result};
  }
  const std::int64_t rank = rankOf(operands[0]);
  mlir::Type wide = calculationType(element);
  for (Value operand : operands)
    if (elementOf(operand).isF64()) wide = elementOf(operand);
  auto at = [&](std::size_t i) { return perChannel(node, operands[i], rank).cast(wide); };
  const Term factor = at(1) / (at(4) + epsilon).sqrt();
  KILN_ASSIGN(Value result,
              ((Term(node, operands[0]).cast(wide) - at(3)) * factor + at(2)).cast(element).value());
  return Values{result};
}

// Over the last dimensions, from `axis` on.
Result<Values> layerNormalization(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value scale, node.input(1));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", -1));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(x)));
  KILN_ASSIGN(float epsilon, node.real("epsilon", 1e-5f));
  KILN_ASSIGN(mlir::Type stash, stashType(node));
  const mlir::Type element = elementOf(x);
  // Never narrower than the input.
  if (element.isF64()) stash = element;
  const Normal normal = normalized(Term(node, x).cast(stash), range(axis, rankOf(x)), epsilon);
  Term y = normal.result.cast(element) * Term(node, scale);
  if (node.hasInput(2)) y = y + Term(node, node.inputs()[2]);
  KILN_ASSIGN(Value result, y.value());
  KILN_ASSIGN(Value mean, normal.mean.value());
  KILN_ASSIGN(Value inverse, normal.inverse.value());
  return Values{result, mean, inverse};
}

// x / sqrt(mean(x * x) + epsilon) * scale over the last dimensions. As SimplifiedLayerNormalization it is
// older than ONNX's operator, stands in ONNX's domain all the same and may give the inverse.
Result<Values> rmsNormalization(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value scale, node.input(1));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", -1));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(x)));
  KILN_ASSIGN(float epsilon, node.real("epsilon", 1e-5f));
  KILN_ASSIGN(mlir::Type stash, stashType(node));
  if (elementOf(x).isF64()) stash = elementOf(x);
  const Term wide = Term(node, x).cast(stash);
  const Term inverse =
      ((wide * wide).mean(range(axis, rankOf(x))) + epsilon).sqrt().unary(UnaryKind::Reciprocal);
  KILN_ASSIGN(Value result, ((wide * inverse).cast(elementOf(x)) * Term(node, scale)).value());
  KILN_ASSIGN(Value factor, inverse.value());
  return Values{result, factor};
}

// Every channel of every image on its own.
Result<Values> instanceNormalization(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value scale, node.input(1));
  KILN_ASSIGN(Value offset, node.input(2));
  KILN_ASSIGN(float epsilon, node.real("epsilon", 1e-5f));
  const std::int64_t rank = rankOf(x);
  if (rank < 3) return invalid("the input has no spatial dimension");
  const mlir::Type wide = calculationType(elementOf(x));
  const Normal normal = normalized(Term(node, x).cast(wide), range(2, rank), epsilon);
  KILN_ASSIGN(Value result, (normal.result * perChannel(node, scale, rank).cast(wide) +
                             perChannel(node, offset, rank).cast(wide))
                                .cast(elementOf(x))
                                .value());
  return Values{result};
}

// Scale and offset are per group before version 21, per channel from then on.
Result<Values> groupNormalization(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value scale, node.input(1));
  KILN_ASSIGN(Value offset, node.input(2));
  KILN_ASSIGN(float epsilon, node.real("epsilon", 1e-5f));
  KILN_ASSIGN(std::int64_t groups, node.integer("num_groups", 0));
  mlir::Type wide = calculationType(elementOf(x));
  if (node.opset() >= 21) {
    KILN_ASSIGN(wide, stashType(node));
    if (elementOf(x).isF64()) wide = elementOf(x);
  }
  const Shape shape = dimsOf(x);
  if (shape.size() < 3 || groups < 1)
    return invalid("the input has rank below 3 or num_groups is not positive");
  const auto each = ir::exactDiv(shape[1], Dim(groups));
  if (!each) return unfit("num_groups does not divide the channels", {shape[1]});
  Shape split{shape[0], Dim(groups), *each};
  split.append(shape.begin() + 2, shape.end());
  const auto rank = static_cast<std::int64_t>(split.size());
  const Normal normal = normalized(Term(node, x).cast(wide).reshape(split), range(2, rank), epsilon);
  // [groups, channels of a group or 1, 1...]
  Shape along{Dim(groups), node.opset() < 21 ? Dim(1) : *each};
  along.append(shape.size() - 2, Dim(1));
  const bool cast =
      node.opset() >= 21;  // the normalised values are of the input's type before they are scaled
  const Term unit = cast ? normal.result.cast(elementOf(x)) : normal.result;
  auto parameter = [&](Value value) {
    return Term(node, value).reshape(along).cast(cast ? elementOf(x) : wide);
  };
  KILN_ASSIGN(Value result,
              (unit * parameter(scale) + parameter(offset)).cast(elementOf(x)).reshape(shape).value());
  return Values{result};
}

// x / (bias + alpha / size * sum of squares over neighbouring channels)^beta
Result<Values> localResponse(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float alpha, node.real("alpha", 1e-4f));
  KILN_ASSIGN(float beta, node.real("beta", 0.75f));
  KILN_ASSIGN(float bias, node.real("bias", 1.0f));
  KILN_ASSIGN(std::int64_t size, node.integer("size", 0));
  if (size < 1 || size > (1 << 20)) return invalid("size is " + std::to_string(size));
  const Shape shape = dimsOf(x);
  if (shape.size() < 2) return invalid("the input has no channels");
  const mlir::Type wide = calculationType(elementOf(x));
  const Term input = Term(node, x).cast(wide);
  const Shape planes{shape[0], Dim(1), shape[1], ir::product(llvm::ArrayRef(shape).drop_front(2))};
  KILN_ASSIGN(Value squares, (input * input).reshape(planes).value());
  KILN_ASSIGN(Value sums, node.pool(ir::PoolKind::Sum, squares, {size, 1},
                                    {{1, 1}, {(size - 1) / 2, 0, size / 2, 0}, {1, 1}}, false));
  const Term base = Term(node, sums).reshape(shape) * (alpha / static_cast<double>(size)) + bias;
  const Term power = base.binary(ir::BinaryKind::Pow, base.number(beta));
  KILN_ASSIGN(Value result, (input / power).cast(elementOf(x)).value());
  return Values{result};
}

Result<Values> dropout(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(float ratio, node.real("ratio", 0.5f));
  if (node.opset() >= 12) KILN_TRY(node.integer("seed", 0));
  KILN_ASSIGN(std::int64_t isTest, node.opset() < 7 ? node.integer("is_test", 0) : Result<std::int64_t>(1));
  bool trains = !isTest;
  if (node.opset() >= 12 && node.hasInput(2)) {
    auto mode = NodeContext::constantScalar(node.inputs()[2]);
    if (!mode) return NodeContext::notConstant("the training mode of Dropout", node.inputs()[2]);
    trains = *mode != 0;
  }
  // Training drops nothing at a ratio of 0.
  if (trains && node.opset() >= 12 && node.hasInput(1)) {
    auto given = NodeContext::constantScalar(node.inputs()[1]);
    if (!given) return NodeContext::notConstant("the ratio of Dropout", node.inputs()[1]);
    ratio = static_cast<float>(*given);
  }
  if (trains && ratio != 0) return fail(Code::kUnimplemented, "training mode is not served");
  Values results{input};
  if (node.wantsOutput(1)) {
    KILN_ASSIGN(Value mask, node.filled(mlir::IntegerType::get(node.context(), 1), dimsOf(input), 1));
    results.push_back(mask);
  }
  return results;
}

constexpr Operator kRows[] = {
    {"", "BatchNormalization", 6, kMaxOpset, batchNormalization},
    {"", "Dropout", 6, kMaxOpset, dropout},
    {"", "GroupNormalization", 18, kMaxOpset, groupNormalization},
    {"", "InstanceNormalization", 6, kMaxOpset, instanceNormalization},
    {"", "LRN", 6, kMaxOpset, localResponse},
    {"", "LayerNormalization", 6, kMaxOpset, layerNormalization},
    {"", "RMSNormalization", 23, kMaxOpset, rmsNormalization},
    {"", "SimplifiedLayerNormalization", 6, kMaxOpset, rmsNormalization},
};

}  // namespace

std::span<const Operator> normalizationOperators() {
  return kRows;
}

}  // namespace kiln::onnx
