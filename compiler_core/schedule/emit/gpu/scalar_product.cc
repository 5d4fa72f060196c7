#include "compiler_core/schedule/emit/gpu/products.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// `count` positions of one thread along a dimension of `extent`: groups of up to four neighbours, which are
// one access, spread so that threads beside each other read beside each other.
struct Strip {
  std::int64_t count, group, apart;
  Value first;

  Strip(const IndexMath& math, Value thread, std::int64_t count, std::int64_t extent)
      : count(count), group(std::min<std::int64_t>(4, count)), apart(extent / (count / group)) {
    first = math.mul(thread, group);
  }
  SmallVector<Value> positions(const IndexMath& math) const {
    SmallVector<Value> result;
    for (std::int64_t i = 0; i < count; ++i) result.push_back(math.add(first, i / group * apart + i % group));
    return result;
  }
  // The factors of one step.
  SmallVector<Value> read(OpBuilder& b, Location loc, const Panel& panel, Value depth) const {
    const IndexMath math(b, loc);
    SmallVector<Value> factors;
    for (std::int64_t i = 0; i < count; i += group) {
      Value at = math.add(first, i / group * apart);
      Value several = panel.read(at, depth, group == 1 ? 0 : group);
      if (group == 1) {
        factors.push_back(several);
        continue;
      }
      for (std::int64_t lane = 0; lane < group; ++lane)
        factors.push_back(vector::ExtractOp::create(b, loc, several, lane));
    }
    return factors;
  }
};

class ScalarProduct : public TileProduct {
 public:
  ScalarProduct(OpBuilder& builder, Location loc, const TileShape& tile, const BlockThread& thread, bool fuse)
      : b_(builder), loc_(loc), math_(builder, loc), depth_(tile.depth), fuse_(fuse) {
    const std::int64_t rows = tile.rows, columns = tile.columns;
    // As square as it goes.
    std::int64_t down = 1, across = 1;
    while (rows * columns > thread.count * down * across) {
      if (across <= down && across < columns)
        across *= 2;
      else if (down < rows)
        down *= 2;
      else
        across *= 2;
    }
    const std::int64_t wide = columns / across, cells = rows / down * wide;
    Value cell = thread.number;
    if (cells < thread.count) {
      isActive_ = math_.less(cell, cells);
      cell = math_.rem(cell, cells);
    }
    down_.emplace(math_, math_.div(cell, wide), down, rows);
    across_.emplace(math_, math_.rem(cell, wide), across, columns);
    rows_ = down_->positions(math_);
    columns_ = across_->positions(math_);
    for (std::size_t row = 0; row < rows_.size(); ++row)
      for (std::size_t column = 0; column < columns_.size(); ++column) accumulators_.push_back({row, column});
  }

  // A step with nothing in it could turn -0 into 0.
  bool takesZeros() const override { return false; }

  SmallVector<Value> add(ArrayRef<Value> accumulators, const Panel& left, const Panel& right,
                         Value depth) override {
    auto loop = scf::ForOp::create(b_, loc_, math_.number(0), depth ? depth : math_.number(depth_),
                                   math_.number(1), accumulators);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    const auto rows = down_->read(b_, loc_, left, loop.getInductionVar());
    const auto columns = across_->read(b_, loc_, right, loop.getInductionVar());
    SmallVector<Value> sums;
    for (auto [at, sum] : llvm::zip_equal(accumulators_, loop.getRegionIterArgs()))
      sums.push_back(multiplyAdd(rows[at.row], columns[at.column], sum));
    scf::YieldOp::create(b_, loc_, sums);
    return SmallVector<Value>(loop.getResults());
  }

 private:
  Value multiplyAdd(Value a, Value b, Value sum) {
    if (!isa<FloatType>(sum.getType()))
      return arith::AddIOp::create(b_, loc_, sum, arith::MulIOp::create(b_, loc_, a, b));
    if (fuse_) return math::FmaOp::create(b_, loc_, a, b, sum);
    return arith::AddFOp::create(b_, loc_, sum, arith::MulFOp::create(b_, loc_, a, b));
  }

  OpBuilder& b_;
  Location loc_;
  IndexMath math_;
  std::int64_t depth_;
  bool fuse_;
  std::optional<Strip> down_, across_;
};

}  // namespace

std::unique_ptr<TileProduct> makeScalarProduct(OpBuilder& builder, Location loc, const TileShape& tile,
                                               const BlockThread& thread, bool fuse) {
  return std::make_unique<ScalarProduct>(builder, loc, tile, thread, fuse);
}

}  // namespace kiln::schedule
