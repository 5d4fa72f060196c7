#include "compiler_core/ir/byte_windows.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/constants.h"
#include "compiler_core/transforms/formula.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_BYTEPRODUCTSPASS
#include "compiler_core/transforms/weight_passes.h.inc"

namespace {

using namespace mlir;

// A factor of i32 that is codes of 8 bits less a zero point.
struct Bytes {
  Value codes;
  Value zero;                          // i32, of as many dimensions; null for 0
  std::optional<std::int64_t> number;  // where the zero point is one known number
  bool isConstant = false;             // the codes are

  bool isUnsigned() const { return ir::tensorType(codes).getElementType().isUnsignedInteger(); }
  bool isCentred() const { return number == 0; }
  // Whether there is one zero point along dimension `axis`, or along all but `axis`.
  bool isOneAlong(std::int64_t axis) const { return !zero || shapeOf(zero)[axis] == ir::Dim(1); }
};

// Everything wraps as i32 does, so each formula below is exact whatever the numbers are.
class Narrowing {
 public:
  Narrowing(Operation* op, ir::WeightTable& weights) : formula_(op), weights_(weights) {}

  void product(ir::MatmulOp op) {
    auto a = bytesOf(op.getLhs()), b = bytesOf(op.getRhs());
    if (!a || !b) return;
    const ir::Shape lhs = shapeOf(op.getLhs());
    const std::size_t rank = lhs.size();
    const auto rows = static_cast<std::int64_t>(rank - 1), columns = rows - 1;  // what sums run along
    if (!lhs.back().isStatic() || !a->isOneAlong(rows) || !b->isOneAlong(columns)) return;
    oppose(*a, *b, /*rightMayBeOff=*/true);
    Value sum =
        ir::MatmulOp::create(formula_.builder(), op.getLoc(), op.getType(), whole(a->codes), whole(b->codes));
    // (a - x) . (b - y) = a . b - x (sums of b - K y) - (sums of a) y
    if (!a->isCentred()) {
      Value sums = sumsOf(*b, {columns});
      if (!b->isCentred()) sums = less(sums, times(b->zero, formula_.number(lhs.back().value(), rank)));
      sum = less(sum, times(a->zero, sums));
    }
    if (!b->isCentred()) sum = less(sum, times(sumsOf(*a, {rows}), b->zero));
    op.replaceAllUsesWith(sum);
    op.erase();
  }

  void product(ir::ConvOp op) {
    if (op.getGroup() != 1 && !ir::isRowWindow(op)) return;
    auto image = bytesOf(op.getInput()), filter = bytesOf(op.getFilter());
    if (!image || !filter) return;
    const ir::Shape window = shapeOf(op.getFilter());
    for (std::size_t i = 0; i < window.size(); ++i)
      if (!image->isOneAlong(static_cast<std::int64_t>(i)) || !window[i].isStatic()) return;
    // What a filter's zero point multiplies differs from window to window.
    if (!oppose(*image, *filter, /*rightMayBeOff=*/false)) return;
    Value bias = op.getBias();
    SmallVector<std::int64_t> pads(op.getPads()), axes;
    if (!image->isCentred()) {
      pad(*image, pads);
      for (std::size_t i = 1; i < window.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
      Value shift = times(formula_.reshape(sumsOf(*filter, axes), {window[0]}),
                          formula_.reshape(image->zero, {ir::Dim(1)}));
      Value none = formula_.number(0, 1);
      bias = less(bias ? bias : none, shift);
    }
    OpBuilder& b = formula_.builder();
    auto conv = ir::ConvOp::create(b, op.getLoc(), op.getType(), whole(image->codes), whole(filter->codes),
                                   bias, op.getStridesAttr(), b.getDenseI64ArrayAttr(pads),
                                   op.getDilationsAttr(), op.getGroupAttr());
    op.replaceAllUsesWith(conv.getResult());
    op.erase();
  }

 private:
  std::optional<Bytes> bytesOf(Value factor) {
    SmallVector<ir::TransposeOp> transposes;
    while (auto transpose = factor.getDefiningOp<ir::TransposeOp>()) {
      transposes.push_back(transpose);
      factor = transpose.getInput();
    }
    Value zero;
    if (auto less = factor.getDefiningOp<ir::BinaryOp>(); less && less.getKind() == ir::BinaryKind::Sub) {
      zero = less.getRhs();
      factor = less.getLhs();
    }
    auto cast = factor.getDefiningOp<ir::CastOp>();
    if (!cast || !ir::tensorType(cast.getInput()).getElementType().isInteger(8)) return std::nullopt;
    Bytes found{cast.getInput(), {}, 0, readsConstant(cast.getInput())};
    if (zero && integerOf(zero) != 0) {
      found.zero = repeatedIn(formula_, zero);
      found.number = integerOf(found.zero);
    }
    for (ir::TransposeOp transpose : llvm::reverse(transposes)) {
      found.codes = formula_.transpose(found.codes, transpose.getPermutation());
      if (found.zero && !found.number)
        found.zero = formula_.transpose(found.zero, transpose.getPermutation());
    }
    return found;
  }

  static bool readsConstant(Value value) {
    return isa_and_nonnull<ir::WeightOp, ir::ConstantOp>(value.getDefiningOp());
  }

  // Makes one factor unsigned and the other signed, so that least is left to do at run time. False, with
  // nothing done, where the right one would have a zero point but may not.
  bool oppose(Bytes& a, Bytes& b, bool rightMayBeOff) {
    const auto moved = [](const Bytes& bytes, bool flips) {
      const std::int64_t by = !flips ? 0 : bytes.isUnsigned() ? -128 : 128;
      return bytes.number ? std::optional(*bytes.number + by) : std::nullopt;
    };
    std::optional<std::pair<bool, bool>> best;
    int least = 0;
    for (const auto& [left, right] :
         {std::pair(false, false), std::pair(false, true), std::pair(true, false)}) {
      if ((a.isUnsigned() != left) == (b.isUnsigned() != right)) continue;
      const bool leftIsOff = moved(a, left) != 0, rightIsOff = moved(b, right) != 0;
      if (rightIsOff && !rightMayBeOff) continue;
      // Sums of the other factor, and a pass over one that flips, cost nothing where they are constant.
      const int cost = (leftIsOff && !b.isConstant ? 2 : 0) + (rightIsOff && !a.isConstant ? 2 : 0) +
                       (left && !a.isConstant ? 1 : 0) + (right && !b.isConstant ? 1 : 0);
      if (!best || cost < least) best = {left, right}, least = cost;
    }
    if (!best) return false;
    if (best->first) flip(a);
    if (best->second) flip(b);
    return true;
  }

  // Between u8 and i8, the zero point with the codes.
  void flip(Bytes& bytes) {
    OpBuilder& b = formula_.builder();
    const std::int64_t by = bytes.isUnsigned() ? -128 : 128;
    const std::size_t rank = shapeOf(bytes.codes).size();
    const Type is = b.getI8Type(), becomes = bytes.isUnsigned() ? is : Type(b.getIntegerType(8, false));
    auto type = RankedTensorType::get(SmallVector<std::int64_t>(rank, 1), is);
    Value highest =
        ir::ConstantOp::create(b, formula_.location(), type, DenseElementsAttr::get(type, std::int8_t(-128)));
    Value codes = bytes.isUnsigned() ? formula_.bitcast(bytes.codes, is) : bytes.codes;
    codes = formula_.binary(ir::BinaryKind::Xor, codes, highest);
    bytes.codes = becomes == is ? codes : formula_.bitcast(codes, becomes);
    Value zero = bytes.zero ? bytes.zero : formula_.number(0, rank);
    bytes.zero = formula_.binary(ir::BinaryKind::Add, zero, formula_.number(by, rank));
    if (bytes.number) *bytes.number += by;
  }

  // Outside of the image lies its zero point.
  void pad(Bytes& image, SmallVector<std::int64_t>& pads) {
    if (llvm::all_of(pads, [](std::int64_t pad) { return pad == 0; })) return;
    OpBuilder& b = formula_.builder();
    const Type code = ir::tensorType(image.codes).getElementType();
    ir::Shape shape = shapeOf(image.codes);
    const std::size_t spatial = pads.size() / 2;
    SmallVector<std::int64_t> low(shape.size(), 0), high = low, interior = low;
    for (std::size_t i = 0; i < spatial; ++i) {
      low[2 + i] = pads[i];
      high[2 + i] = pads[spatial + i];
      shape[2 + i] = shape[2 + i] + ir::Dim(pads[i] + pads[spatial + i]);
    }
    Value zero = formula_.cast(formula_.reshape(image.zero, {}), code);
    image.codes = ir::PadOp::create(b, formula_.location(), ir::tensorTypeOf(shape, code),
                                    ir::PadMode::Constant, image.codes, zero, low, high, interior);
    std::fill(pads.begin(), pads.end(), 0);
  }

  // Sums the codes in i32 and keeps the dimensions.
  Value sumsOf(const Bytes& bytes, ArrayRef<std::int64_t> axes) {
    ir::Shape kept = shapeOf(bytes.codes), left;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (llvm::is_contained(axes, static_cast<std::int64_t>(i)))
        kept[i] = 1;
      else
        left.push_back(kept[i]);
    }
    Value sums = bytes.isConstant ? constantSums(bytes, axes, left) : Value();
    if (!sums)
      sums = ir::ReduceOp::create(formula_.builder(), formula_.location(),
                                  ir::tensorTypeOf(left, formula_.builder().getI32Type()),
                                  ir::ReduceKind::Sum, whole(bytes.codes), axes);
    return formula_.reshape(sums, kept);
  }

  // Sums a constant, which was flipped at most; null where its bytes are not at hand.
  Value constantSums(const Bytes& bytes, ArrayRef<std::int64_t> axes, ArrayRef<ir::Dim> left) {
    Value source = bytes.codes;
    bool isFlipped = false;
    SmallVector<SmallVector<std::int64_t>> transposes;
    while (!readsConstant(source)) {
      Operation* op = source.getDefiningOp();
      if (auto binary = dyn_cast<ir::BinaryOp>(op))
        isFlipped = true, source = binary.getLhs();
      else if (auto transpose = dyn_cast<ir::TransposeOp>(op))
        transposes.emplace_back(transpose.getPermutation()), source = transpose.getInput();
      else
        source = cast<ir::BitcastOp>(op).getInput();
    }
    const auto values = readConstant(source, weights_);
    if (!values || !ir::isStatic(left)) return {};
    // Where each dimension of the source went.
    const auto rank = static_cast<std::int64_t>(values->shape.size());
    SmallVector<std::int64_t> order(rank);
    for (std::int64_t i = 0; i < rank; ++i) order[i] = i;
    for (const auto& transpose : llvm::reverse(transposes)) {
      const SmallVector<std::int64_t> before = order;
      for (std::int64_t i = 0; i < rank; ++i) order[i] = before[transpose[i]];
    }
    const SmallVector<std::int64_t> shape = ir::numbers(left);
    auto sums = reference::HostTensor::zeros(DType::kI32, {shape.begin(), shape.end()});
    SmallVector<std::int64_t> strides(rank, 0), index(rank, 0);
    std::int64_t dense = 1;
    for (std::int64_t i = rank; i-- > 0;) {
      if (llvm::is_contained(axes, i)) continue;
      strides[order[i]] = dense;
      dense *= values->shape[order[i]];
    }
    std::int64_t at = 0;
    for (const std::uint8_t byte : values->bytes) {
      const std::uint8_t code = isFlipped ? byte ^ 0x80 : byte;
      std::uint32_t& sum = sums.data<std::uint32_t>()[at];
      sum += bytes.isUnsigned() ? code : static_cast<std::uint32_t>(static_cast<std::int8_t>(code));
      for (std::int64_t i = rank; i-- > 0;) {
        at += strides[i];
        if (++index[i] < values->shape[i]) break;
        at -= strides[i] * values->shape[i];
        index[i] = 0;
      }
    }
    return makeConstant(formula_.builder(), formula_.location(), sums, weights_,
                        weightName(source, weights_) + ".sums");
  }

  Value whole(Value codes) { return formula_.cast(codes, formula_.builder().getI32Type()); }
  Value less(Value x, Value y) { return formula_.binary(ir::BinaryKind::Sub, x, y); }
  Value times(Value x, Value y) { return formula_.binary(ir::BinaryKind::Mul, x, y); }

  Formula formula_;
  ir::WeightTable& weights_;
};

struct ByteProducts : impl::ByteProductsPassBase<ByteProducts> {
  explicit ByteProducts(ir::WeightTable& weights) : weights_(&weights) {}

  void runOnOperation() final {
    SmallVector<Operation*> products;
    getOperation().walk([&](Operation* op) {
      if (isa<ir::MatmulOp, ir::ConvOp>(op) &&
          ir::tensorType(op->getResult(0)).getElementType().isInteger(32))
        products.push_back(op);
    });
    for (Operation* op : products) {
      Narrowing narrowing(op, *weights_);
      if (auto matmul = dyn_cast<ir::MatmulOp>(op))
        narrowing.product(matmul);
      else
        narrowing.product(cast<ir::ConvOp>(op));
    }
  }

  ir::WeightTable* weights_;
};

}  // namespace

std::unique_ptr<Pass> createByteProductsPass(ir::WeightTable& weights) {
  return std::make_unique<ByteProducts>(weights);
}

}  // namespace kiln::transforms
