// rng_bit_generator: Threefry-2x32 of 20 rounds (J. Salmon and others, "Parallel random numbers: as easy as
// 1, 2, 3", 2011), with the counters as XLA lays them over a shape.
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

using ir::BinaryKind;

struct Pair {
  Term low, high;
};

Term operator^(const Term& a, const Term& b) {
  return a.binary(BinaryKind::Xor, b);
}

Term rotated(const Term& x, int by) {
  return x.binary(BinaryKind::Shl, x.number(by)) | x.binary(BinaryKind::Shr, x.number(32 - by));
}

Pair threefry(const Pair& counter, const Pair& key) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const Term keys[] = {key.low, key.high, key.low ^ key.high ^ key.low.number(0x1BD11BDA)};
  Term x = counter.low + keys[0], y = counter.high + keys[1];
  for (int group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x = x + y;
      y = rotated(y, rotation) ^ x;
    }
    x = x + keys[(group + 1) % 3];
    y = y + keys[(group + 2) % 3] + static_cast<double>(group + 1);
  }
  return {x, y};
}

mlir::Type unsignedOf(OperationContext& op, unsigned width) {
  return mlir::IntegerType::get(op.context(), width, mlir::IntegerType::Unsigned);
}

Pair halves(OperationContext& op, const Term& wide) {
  const mlir::Type narrow = unsignedOf(op, 32);
  return {wide.cast(narrow), wide.binary(BinaryKind::Shr, wide.number(32)).cast(narrow)};
}

// `first` and the numbers after it in row-major order.
Term counters(OperationContext& op, const Term& first, llvm::ArrayRef<std::int64_t> shape) {
  Term result = first;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const Term along = frontend::countAlong(op, unsignedOf(op, 64), shape[i], static_cast<std::int64_t>(i),
                                            static_cast<std::int64_t>(shape.size()));
    result = result + along * static_cast<double>(stride);
    stride *= shape[i];
  }
  return result.broadcast(Dims(shape));
}

// 32 bits each: one call gives two of them, which lie side by side along the first dimension of even extent,
// or else along the longest one.
struct Split {
  std::size_t dim = 0;
  Dims half;  // with a dimension of 1 behind `dim`, along which the two of a pair are joined
};

Split splitOf(const Dims& shape) {
  Split split;
  const auto isEven = [](std::int64_t extent) { return extent % 2 == 0; };
  const auto* even = llvm::find_if(shape, isEven);
  const auto* chosen = even != shape.end() ? even : std::max_element(shape.begin(), shape.end());
  split.dim = static_cast<std::size_t>(chosen - shape.begin());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    split.half.push_back(i == split.dim ? (shape[i] + 1) / 2 : shape[i]);
    if (i == split.dim) split.half.push_back(1);
  }
  return split;
}

struct Generated {
  Result<Value> bits;
  std::int64_t used;  // counters
};

Generated words32(OperationContext& op, const Term& key, const Term& state, Dims shape) {
  const Dims wanted = shape;
  if (shape.empty()) shape = {1};
  const Split split = splitOf(shape);
  const Pair pair = threefry(halves(op, counters(op, state, split.half)), halves(op, key));
  auto join = [&]() -> Result<Value> {
    KILN_ASSIGN(Value low, Result<Value>(pair.low.value()));
    KILN_ASSIGN(Value high, Result<Value>(pair.high.value()));
    KILN_ASSIGN(Value both, op.concat({low, high}, static_cast<std::int64_t>(split.dim) + 1));
    Dims joined(shape);
    joined[split.dim] = (joined[split.dim] + 1) / 2 * 2;
    KILN_ASSIGN(both, op.reshape(both, joined));
    KILN_ASSIGN(both, sliceAlong(op, both, static_cast<std::int64_t>(split.dim), 0, shape[split.dim]));
    return op.reshape(both, wanted);
  };
  return {join(), elementsOf(split.half)};
}

Generated words64(OperationContext& op, const Term& key, const Term& state, const Dims& shape) {
  const Pair pair = threefry(halves(op, counters(op, state, shape)), halves(op, key));
  const mlir::Type wide = unsignedOf(op, 64);
  const Term low = pair.low.cast(wide), high = pair.high.cast(wide);
  return {(low | high.binary(BinaryKind::Shl, high.number(32))).value(), elementsOf(shape)};
}

Result<Values> rngBitGenerator(OperationContext& op) {
  KILN_ASSIGN(const std::string algorithm, op.enumerated("rng_algorithm", "DEFAULT"));
  if (algorithm != "THREE_FRY")
    return unserved("the random numbers of algorithm " + algorithm + " are not served; THREE_FRY's are");
  if (op.resultCount() != 2) return invalid("there are two results");
  const Value state = op.operand(0);
  if (elementOf(state) != unsignedOf(op, 64) || shapeOf(state) != llvm::ArrayRef<std::int64_t>{2})
    return invalid("the state is tensor<2xui64>");
  const mlir::Type element = op.resultElement(1);
  KILN_ASSIGN(const Dims shape, op.resultShape(1));
  if (!element.isInteger() || element.getIntOrFloatBitWidth() < 8)
    return unserved("random bits of this element type are not served");
  const unsigned width = element.getIntOrFloatBitWidth();
  const Term key = frontend::elementAt(op, state, 0), counter = frontend::elementAt(op, state, 1);
  if (elementsOf(shape) == 0) {
    KILN_ASSIGN(Value empty, op.filled(element, shape, 0));
    return Values{state, empty};
  }
  Generated made = width == 64 ? words64(op, key, counter, shape) : words32(op, key, counter, shape);
  KILN_ASSIGN(Value bits, std::move(made.bits));
  KILN_ASSIGN(bits, width == 64 ? op.bitcast(bits, element) : op.cast(bits, unsignedOf(op, width)));
  KILN_ASSIGN(bits, op.bitcast(bits, element));
  KILN_ASSIGN(Value first, key.reshape(Dims{1}).value());
  KILN_ASSIGN(Value next, (counter + static_cast<double>(made.used)).reshape(Dims{1}).value());
  KILN_ASSIGN(Value after, op.concat({first, next}, 0));
  return Values{after, bits};
}

}  // namespace

std::span<const Row> randomRows() {
  static constexpr Row kRows[] = {{"rng_bit_generator", rngBitGenerator, 1}};
  return kRows;
}

}  // namespace kiln::stablehlo
