// The functions of the kernel library as code of threads: results and their bits are those of
// compiler_core/kernels.
#include "compiler_core/schedule/strategies/gpu_library/library.h"

#include "compiler_core/schedule/lower/scalar.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// The element type at the end of a function's name, as kernels/README.md spells it; null for a width alone.
Type elementOf(ir::CallOp call) {
  StringRef name = call.getCallee().rsplit('_').second;
  MLIRContext* context = call.getContext();
  if (name == "f16") return Float16Type::get(context);
  if (name == "bf16") return BFloat16Type::get(context);
  if (name == "f32") return Float32Type::get(context);
  if (name == "f64") return Float64Type::get(context);
  const bool isUnsigned = name.consume_front("u");
  unsigned width = 0;
  if (!name.consume_front("i") || name.getAsInteger(10, width)) return {};
  return IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
}

bool startsWith(ir::CallOp call, ArrayRef<StringRef> names) {
  return llvm::any_of(names, [&](StringRef name) { return call.getCallee().starts_with(name); });
}
bool isCumulative(ir::CallOp call) {
  return startsWith(call, {"kiln_cumsum_", "kiln_cumprod_"});
}
bool isArgReduce(ir::CallOp call) {
  return startsWith(call, {"kiln_argmax_", "kiln_argmin_"});
}
bool isScatter(ir::CallOp call) {
  return startsWith(call, {"kiln_scatter_"});
}

// A scatter's rows of data are shared out over so many owners: a thread makes one column of its own rows.
std::int64_t ownersOf(ir::CallOp call) {
  constexpr std::int64_t kThreads = 8192;
  const std::int64_t row = cast<MemRefType>(call.getInits()[0].getType()).getDimSize(1);
  if (ShapedType::isDynamic(row)) return 64;
  std::int64_t owners = 1;
  while (owners * std::max<std::int64_t>(1, row) < kThreads) owners *= 2;
  return owners;
}

class CallEmitter {
 public:
  CallEmitter(RewriterBase& builder, ir::CallOp call)
      : b_(builder),
        call_(call),
        loc_(call.getLoc()),
        element_(elementOf(call)),
        input_(call.getInputs()[0]) {}

  // Position `at` as its digits in a row-major space whose inner extents are given.
  SmallVector<Value> digits(Value at, ArrayRef<Value> inner) {
    if (!at.getType().isIndex()) at = arith::IndexCastUIOp::create(b_, loc_, b_.getIndexType(), at);
    SmallVector<Value> result(inner.size() + 1);
    for (std::size_t i = inner.size(); i-- > 0;) {
      result[i + 1] = arith::RemUIOp::create(b_, loc_, at, inner[i]);
      at = arith::DivUIOp::create(b_, loc_, at, inner[i]);
    }
    result[0] = at;
    return result;
  }
  Value extent(Value buffer, std::int64_t dim) {
    return getValueOrCreateConstantIndexOp(b_, loc_, memref::getMixedSize(b_, loc_, buffer, dim));
  }

  // One line of [outer, n, inner].
  void cumulative(Value at) {
    const bool isProduct = startsWith(call_, {"kiln_cumprod_"});
    const bool exclusive = call_.getParameters()[0] != 0, reverse = call_.getParameters()[1] != 0;
    const auto line = digits(at, extent(input_, 2));
    Value n = extent(input_, 1), last = arith::SubIOp::create(b_, loc_, n, index(1));
    const Type sum = sumType();
    Value start = numberOf(b_, loc_, sum, isProduct ? 1 : 0);
    auto loop = scf::ForOp::create(b_, loc_, index(0), n, index(1), start);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar(), total = loop.getRegionIterArg(0);
    if (reverse) step = arith::SubIOp::create(b_, loc_, last, step);
    const SmallVector<Value> place = {line[0], step, line[1]};
    Value x = widened(memref::LoadOp::create(b_, loc_, input_, place), sum);
    Value next = binaryScalar(b_, loc_, isProduct ? ir::BinaryKind::Mul : ir::BinaryKind::Add, total, x);
    memref::StoreOp::create(b_, loc_, narrowed(exclusive ? total : next), call_.getInits()[0], place);
    scf::YieldOp::create(b_, loc_, next);
  }

  void argReduce(Value at) {
    const bool largest = startsWith(call_, {"kiln_argmax_"}), last = call_.getParameters()[0] != 0;
    const auto line = digits(at, extent(input_, 2));
    auto load = [&](Value step) {
      Value stored = memref::LoadOp::create(b_, loc_, input_, ValueRange{line[0], step, line[1]});
      return unpack(b_, loc_, stored, element_);
    };
    Value first = load(index(0));
    auto loop =
        scf::ForOp::create(b_, loc_, index(1), extent(input_, 1), index(1), ValueRange{index(0), first});
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(loop.getBody());
      Value best = loop.getRegionIterArg(0), y = loop.getRegionIterArg(1);
      Value x = load(loop.getInductionVar());
      Value better = beats(x, y, largest, last);
      scf::YieldOp::create(b_, loc_,
                           ValueRange{arith::SelectOp::create(b_, loc_, better, loop.getInductionVar(), best),
                                      arith::SelectOp::create(b_, loc_, better, x, y)});
    }
    Value position = arith::IndexCastOp::create(b_, loc_, b_.getI64Type(), loop.getResult(0));
    memref::StoreOp::create(b_, loc_, position, call_.getInits()[0], ValueRange{line[0], line[1]});
  }

  // Column `position mod row` of the rows whose number is `position / row` modulo the number of owners;
  // updates in their order.
  void scatter(Value at) {
    Value updates = call_.getInputs()[1], data = call_.getInits()[0];
    const auto own = digits(at, extent(data, 1));
    auto loop = scf::ForOp::create(b_, loc_, index(0), extent(input_, 0), index(1));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Value target = arith::IndexCastOp::create(
        b_, loc_, b_.getIndexType(),
        memref::LoadOp::create(b_, loc_, input_, ValueRange{loop.getInductionVar()}));
    // A negative one is large.
    Value inside = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::ult, target, extent(data, 0));
    Value owner = arith::AndIOp::create(b_, loc_, target, index(ownersOf(call_) - 1));
    Value mine = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::eq, owner, own[0]);
    auto taken = scf::IfOp::create(b_, loc_, arith::AndIOp::create(b_, loc_, inside, mine));
    b_.setInsertionPointToStart(taken.thenBlock());
    const SmallVector<Value> place = {target, own[1]};
    Value update = memref::LoadOp::create(b_, loc_, updates, ValueRange{loop.getInductionVar(), own[1]});
    if (const auto kind = combination()) {
      Value now = unpack(b_, loc_, memref::LoadOp::create(b_, loc_, data, place), element_);
      Value next = binaryScalar(b_, loc_, *kind, now, unpack(b_, loc_, update, element_), element_);
      update = pack(b_, loc_, next, element_);
    }
    memref::StoreOp::create(b_, loc_, update, data, place);
  }

 private:
  Value index(std::int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }

  // What running sums are carried in; integers wrap in any width.
  Type sumType() {
    if (element_.isF32()) return b_.getF64Type();
    if (isSmallFloat(element_)) return b_.getF32Type();
    return storageOf(element_);
  }
  Value widened(Value stored, Type sum) {
    Value value = unpack(b_, loc_, stored, element_);
    return value.getType() == sum ? value : arith::ExtFOp::create(b_, loc_, sum, value).getResult();
  }
  Value narrowed(Value value) {
    if (element_.isF32()) return arith::TruncFOp::create(b_, loc_, element_, value);
    return pack(b_, loc_, value, element_);
  }

  // NaN wins; of equals the first, or the last.
  Value beats(Value x, Value y, bool largest, bool last) {
    if (!isa<FloatType>(x.getType())) {
      using P = arith::CmpIPredicate;
      const bool isUnsigned = element_.isUnsignedInteger();
      const P larger = isUnsigned ? (last ? P::uge : P::ugt) : (last ? P::sge : P::sgt),
              smaller = isUnsigned ? (last ? P::ule : P::ult) : (last ? P::sle : P::slt);
      return arith::CmpIOp::create(b_, loc_, largest ? larger : smaller, x, y);
    }
    using P = arith::CmpFPredicate;
    auto compare = [&](P kind, Value a, Value c) {
      return arith::CmpFOp::create(b_, loc_, kind, a, c).getResult();
    };
    const P kind = largest ? (last ? P::OGE : P::OGT) : (last ? P::OLE : P::OLT);
    Value xNan = compare(P::UNO, x, x), yNan = compare(P::UNO, y, y);
    Value ordered = arith::OrIOp::create(b_, loc_, xNan, compare(kind, x, y));
    Value afterNan = last ? xNan : arith::ConstantIntOp::create(b_, loc_, b_.getI1Type(), 0).getResult();
    return arith::SelectOp::create(b_, loc_, yNan, afterNan, ordered);
  }

  std::optional<ir::BinaryKind> combination() {
    if (startsWith(call_, {"kiln_scatter_add_"})) return ir::BinaryKind::Add;
    if (startsWith(call_, {"kiln_scatter_mul_"})) return ir::BinaryKind::Mul;
    if (startsWith(call_, {"kiln_scatter_max_"})) return ir::BinaryKind::Max;
    if (startsWith(call_, {"kiln_scatter_min_"})) return ir::BinaryKind::Min;
    return std::nullopt;  // set
  }

  RewriterBase& b_;
  ir::CallOp call_;
  Location loc_;
  Type element_;
  Value input_;
};

}  // namespace

bool hasThreadForm(ir::CallOp call) {
  return isCumulative(call) || isArgReduce(call) || isScatter(call);
}

OpFoldResult positions(OpBuilder& b, ir::CallOp call) {
  const Location loc = call.getLoc();
  const AffineExpr d0 = b.getAffineDimExpr(0), s0 = b.getAffineSymbolExpr(0);
  auto size = [&](Value buffer, std::int64_t dim) { return memref::getMixedSize(b, loc, buffer, dim); };
  if (isScatter(call))
    return affine::makeComposedFoldedAffineApply(b, loc, d0 * ownersOf(call), {size(call.getInits()[0], 1)});
  return affine::makeComposedFoldedAffineApply(b, loc, d0 * s0,
                                               {size(call.getInputs()[0], 0), size(call.getInputs()[0], 2)});
}

void emitCall(RewriterBase& rewriter, ir::CallOp call, const BlockThread& thread, const Share& share) {
  CallEmitter emitter(rewriter, call);
  distributeOverThreads(rewriter, call.getLoc(), positions(rewriter, call), thread, share, [&](Value at) {
    if (isScatter(call))
      emitter.scatter(at);
    else if (isCumulative(call))
      emitter.cumulative(at);
    else
      emitter.argReduce(at);
  });
}

}  // namespace kiln::schedule
