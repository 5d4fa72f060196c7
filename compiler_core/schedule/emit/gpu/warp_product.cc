// Fragments are laid out as the PTX ISA says (sections "Matrix Fragments for mma.m16n8k16 with
// floating-point type" and "... mma.m16n8k8"): of a warp's 32 lanes, lane = 4 * group + member.
//   A: registers hold rows group and group + 8, steps 2 * member and the one behind (tf32: member), then the
//      same rows half the depth further on;
//   B: the same steps of column group;
//   C: rows group and group + 8, columns 2 * member and the one behind.
#include "compiler_core/schedule/emit/gpu/products.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

constexpr std::int64_t kWarp = 32, kRows = 16, kColumns = 8;

class WarpProduct : public TileProduct {
 public:
  WarpProduct(OpBuilder& builder, Location loc, TensorCore kind, const TileShape& tile,
              const BlockThread& thread)
      : b_(builder), loc_(loc), math_(builder, loc), kind_(kind), depth_(tile.depth) {
    const std::int64_t rows = tile.rows, columns = tile.columns;
    // All warps, each with as square a part as there is: it reads the least.
    const std::int64_t warps = thread.count / kWarp;
    std::int64_t down = 1, across = 1;
    for (std::int64_t d = 1; d <= rows / kRows; d *= 2)
      for (std::int64_t a = 1; a <= columns / kColumns && d * a <= warps; a *= 2)
        if (d * a > down * across ||
            (d * a == down * across && rows / d + columns / a < rows / down + columns / across))
          down = d, across = a;
    const std::int64_t active = down * across;
    Value warp = math_.div(thread.number, kWarp);
    if (active < warps) {
      // The others do the same once more, and keep it to themselves.
      isActive_ = math_.less(thread.number, active * kWarp);
      warp = math_.rem(warp, active);
    }
    Value lane = math_.rem(thread.number, kWarp), group = math_.div(lane, 4);
    member_ = math_.rem(lane, 4);
    down_ = rows / down / kRows;
    across_ = columns / across / kColumns;
    Value row = math_.add(math_.mul(math_.div(warp, across), rows / down), group);
    column_ = math_.add(math_.mul(math_.rem(warp, across), columns / across), group);
    Value pair = math_.add(math_.mul(math_.rem(warp, across), columns / across), math_.mul(member_, 2));
    for (std::int64_t i = 0; i < down_; ++i)
      for (std::int64_t half : {0, 8}) rows_.push_back(math_.add(row, i * kRows + half));
    for (std::int64_t j = 0; j < across_; ++j)
      for (std::int64_t next : {0, 1}) columns_.push_back(math_.add(pair, j * kColumns + next));
    for (std::size_t i = 0; i < static_cast<std::size_t>(down_); ++i)
      for (std::size_t j = 0; j < static_cast<std::size_t>(across_); ++j)
        for (std::size_t c = 0; c < 4; ++c) accumulators_.push_back({2 * i + c / 2, 2 * j + c % 2});
  }

  bool takesZeros() const override { return true; }

  SmallVector<Value> add(ArrayRef<Value> accumulators, const Panel& left, const Panel& right,
                         Value) override {
    SmallVector<Value> sums(accumulators);
    for (std::int64_t from = 0; from < depth_; from += stepsOf(kind_)) {
      SmallVector<SmallVector<Value>> a(down_), b(across_);
      for (std::int64_t i = 0; i < down_; ++i)
        for (std::int64_t half : {0, 1})
          for (std::int64_t eight : {0, 1}) a[i].push_back(fragment(left, rows_[2 * i + eight], from, half));
      for (std::int64_t j = 0; j < across_; ++j)
        for (std::int64_t half : {0, 1})
          b[j].push_back(fragment(right, math_.add(column_, j * kColumns), from, half));
      for (std::int64_t i = 0; i < down_; ++i)
        for (std::int64_t j = 0; j < across_; ++j) {
          const std::size_t at = 4 * (i * across_ + j);
          const auto next = multiply(a[i], b[j], ArrayRef(sums).slice(at, 4));
          std::copy(next.begin(), next.end(), sums.begin() + static_cast<std::ptrdiff_t>(at));
        }
    }
    return sums;
  }

 private:
  // One register: what `row` has at this lane's steps, in the first or second half of the instruction's.
  Value fragment(const Panel& panel, Value row, std::int64_t from, std::int64_t half) {
    const std::int64_t start = from + half * stepsOf(kind_) / 2;
    if (kind_ == TensorCore::kTf32)
      return arith::BitcastOp::create(b_, loc_, b_.getI32Type(),
                                      panel.read(row, math_.add(member_, start), 0));
    Value codes = panel.read(row, math_.add(math_.mul(member_, 2), start), 2);
    if (kind_ == TensorCore::kF16)
      return vector::BitCastOp::create(b_, loc_, VectorType::get({2}, b_.getF16Type()), codes);
    Value word = vector::BitCastOp::create(b_, loc_, VectorType::get({1}, b_.getI32Type()), codes);
    return vector::ExtractOp::create(b_, loc_, word, 0);
  }

  SmallVector<Value> multiply(ArrayRef<Value> a, ArrayRef<Value> b, ArrayRef<Value> sums) {
    const NVVM::MMATypes type = kind_ == TensorCore::kF16    ? NVVM::MMATypes::f16
                                : kind_ == TensorCore::kBF16 ? NVVM::MMATypes::bf16
                                                             : NVVM::MMATypes::tf32;
    const SmallVector<Type> f32(4, b_.getF32Type());
    auto result = NVVM::MmaOp::create(b_, loc_, LLVM::LLVMStructType::getLiteral(b_.getContext(), f32), a, b,
                                      sums, ArrayRef<std::int64_t>{kRows, kColumns, stepsOf(kind_)},
                                      std::nullopt, std::nullopt, std::array{type, type},
                                      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    SmallVector<Value> next;
    for (std::int64_t i = 0; i < 4; ++i) next.push_back(LLVM::ExtractValueOp::create(b_, loc_, result, i));
    return next;
  }

  OpBuilder& b_;
  Location loc_;
  IndexMath math_;
  TensorCore kind_;
  std::int64_t depth_, down_ = 0, across_ = 0;
  Value member_, column_;
};

}  // namespace

std::unique_ptr<TileProduct> makeWarpProduct(OpBuilder& builder, Location loc, TensorCore kind,
                                             const TileShape& tile, const BlockThread& thread) {
  return std::make_unique<WarpProduct>(builder, loc, kind, tile, thread);
}

}  // namespace kiln::schedule
