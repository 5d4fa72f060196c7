#include "compiler_core/schedule/strategies/winograd/transform.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

class Transform {
 public:
  Transform(OpBuilder& builder, Location loc, bool fuse) : b_(builder), loc_(loc), fuse_(fuse) {}

  // Along one dimension: m + 2 numbers to as many points.
  SmallVector<Value> transformInputLine(ArrayRef<Value> d) {
    if (d.size() == 4) return {minus(d[0], d[2]), plus(d[1], d[2]), minus(d[2], d[1]), minus(d[1], d[3])};
    const Value even = plus(d[4], d[2], -4), odd = plus(d[3], d[1], -4);
    const Value near = minus(d[4], d[2]), far = minus(d[3], d[1]);
    return {plus(plus(d[4], d[2], -5), d[0], 4),
            plus(even, odd),
            minus(even, odd),
            plus(near, far, 2),
            plus(near, far, -2),
            plus(plus(d[5], d[3], -5), d[1], 4)};
  }

  // m + 2 points to m results.
  SmallVector<Value> transformOutputLine(ArrayRef<Value> p) {
    if (p.size() == 4) return {plus(plus(p[0], p[1]), p[2]), minus(minus(p[1], p[2]), p[3])};
    const Value even = plus(p[1], p[2]), odd = minus(p[1], p[2]);
    const Value evens = plus(p[3], p[4]), odds = minus(p[3], p[4]);
    return {plus(plus(p[0], even), evens), plus(odd, odds, 2), plus(even, evens, 4),
            plus(plus(odd, odds, 8), p[5])};
  }

 private:
  Value plus(Value a, Value b) { return arith::AddFOp::create(b_, loc_, a, b); }
  Value minus(Value a, Value b) { return arith::SubFOp::create(b_, loc_, a, b); }
  // a + factor * b
  Value plus(Value a, Value b, double factor) {
    Value times =
        arith::ConstantOp::create(b_, loc_,
                                  DenseElementsAttr::get(cast<ShapedType>(b.getType()),
                                                         b_.getF32FloatAttr(static_cast<float>(factor))));
    if (fuse_) return math::FmaOp::create(b_, loc_, times, b, a);
    return plus(a, arith::MulFOp::create(b_, loc_, times, b));
  }

  OpBuilder& b_;
  Location loc_;
  bool fuse_;
};

// `along` for every column of a square of `side`, then for every row of what that gives.
SmallVector<Value> inBothDimensions(ArrayRef<Value> square, std::size_t side,
                                    llvm::function_ref<SmallVector<Value>(ArrayRef<Value>)> along) {
  SmallVector<SmallVector<Value>> columns;
  for (std::size_t column = 0; column < side; ++column) {
    SmallVector<Value> numbers;
    for (std::size_t row = 0; row < side; ++row) numbers.push_back(square[row * side + column]);
    columns.push_back(along(numbers));
  }
  SmallVector<Value> result;
  for (std::size_t row = 0; row < columns.front().size(); ++row) {
    SmallVector<Value> numbers;
    for (const SmallVector<Value>& column : columns) numbers.push_back(column[row]);
    llvm::append_range(result, along(numbers));
  }
  return result;
}

}  // namespace

SmallVector<Value> transformInput(OpBuilder& b, Location loc, std::int64_t m, ArrayRef<Value> numbers,
                                  bool fuse) {
  Transform transform(b, loc, fuse);
  return inBothDimensions(numbers, static_cast<std::size_t>(m + 2),
                          [&](ArrayRef<Value> line) { return transform.transformInputLine(line); });
}

SmallVector<Value> transformOutput(OpBuilder& b, Location loc, std::int64_t m, ArrayRef<Value> sums,
                                   bool fuse) {
  Transform transform(b, loc, fuse);
  return inBothDimensions(sums, static_cast<std::size_t>(m + 2),
                          [&](ArrayRef<Value> line) { return transform.transformOutputLine(line); });
}

}  // namespace kiln::schedule
