#include "compiler_core/schedule/strategies/gpu_product/contraction.h"

#include "compiler_core/schedule/analysis/contraction_roles.h"
#include "compiler_core/schedule/analysis/extents.h"
#include "compiler_core/schedule/emit/gpu/products.h"
#include "compiler_core/schedule/strategies/gpu_product/contraction_tiles.h"
#include "compiler_core/schedule/strategies/gpu_product/prologue_epilogue.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// Registers for results; the rest hold addresses, fragments and what is on its way.
constexpr std::int64_t kAccumulatorBytes = 256;

std::int64_t powerOfTwo(std::optional<std::int64_t> extent, std::int64_t least, std::int64_t most) {
  std::int64_t size = least;
  while (size < most && size < extent.value_or(most)) size *= 2;
  return size;
}

std::optional<std::int64_t> boundOf(ArrayRef<OpFoldResult> extents) {
  std::int64_t bound = 1;
  for (const OpFoldResult extent : extents) {
    const auto most = upperBound(extent);
    if (!most || __builtin_mul_overflow(bound, *most, &bound)) return std::nullopt;
  }
  return bound;
}

TileShape chooseTileShape(std::optional<std::int64_t> rows, std::optional<std::int64_t> columns,
                          std::optional<std::int64_t> depth, std::optional<TensorCore> core,
                          std::int64_t elementBytes, std::int64_t threads) {
  constexpr std::int64_t kMost = 128;
  TileShape tile;
  tile.rows = powerOfTwo(rows, core ? 16 : 4, kMost);
  tile.columns = powerOfTwo(columns, core ? 8 : 4, kMost);
  while (tile.rows * tile.columns * elementBytes > threads * kAccumulatorBytes)
    (tile.rows > tile.columns ? tile.rows : tile.columns) /= 2;
  if (core)
    tile.depth = powerOfTwo(depth, stepsOf(*core), *core == TensorCore::kTf32 ? 16 : 32);
  else
    // A short sum in one piece; else a cache line of each row.
    tile.depth = depth && *depth <= 16 ? std::max<std::int64_t>(1, *depth) : elementBytes == 8 ? 8 : 16;
  return tile;
}

// A contraction, what becomes part of it, and what it is made with.
struct PlannedContraction {
  linalg::LinalgOp op;
  Contraction roles;
  PrologueEpilogue prologueEpilogue;
  std::optional<TensorCore> core;  // nullopt: products one by one
  bool fuse;                       // such a product and its addition round once
};

class Emitter {
 public:
  Emitter(RewriterBase& rewriter, const PlannedContraction& plan, const BlockThread& thread)
      : b_(rewriter),
        op_(plan.op),
        loc_(op_.getLoc()),
        math_(rewriter, loc_),
        roles_(plan.roles),
        prologueEpilogue_(plan.prologueEpilogue),
        core_(plan.core),
        fuse_(plan.fuse),
        thread_(thread) {}

  void emit() {
    readSizes();
    rows_ = math_.product(nest_.sizesOf(roles_.left.loops));
    columns_ = math_.product(nest_.sizesOf(roles_.right.loops));
    depth_ = math_.product(nest_.sizesOf(roles_.reductions));
    const Type result = getElementTypeOrSelf(op_.getDpsInits()[0].getType());
    tile_ = chooseTileShape(boundOf(nest_.sizesOf(roles_.left.loops)),
                            boundOf(nest_.sizesOf(roles_.right.loops)), getConstantIntValue(depth_), core_,
                            std::max(4u, result.getIntOrFloatBitWidth() / 8), thread_.count);
    PanelShape shape;
    shape.depth = tile_.depth;
    if (core_) {
      shape.order = PanelOrder::kDepthInside;
      shape.codes = *core_ != TensorCore::kTf32;
      shape.roundsTf32 = *core_ == TensorCore::kTf32;
    }
    shape.rows = tile_.rows;
    left_.emplace(b_, loc_, nest_, sourceOf(roles_.left), shape, thread_);
    shape.rows = tile_.columns;
    right_.emplace(b_, loc_, nest_, sourceOf(roles_.right), shape, thread_);
    if (core_)
      product_ = makeWarpProduct(b_, loc_, *core_, tile_, thread_);
    else
      product_ = makeScalarProduct(b_, loc_, tile_, thread_, fuse_);
    const OpFoldResult batches = math_.product(nest_.sizesOf(roles_.batch));
    forEach(batches, 1, [&](Value batch) {
      batch_ = math_.delinearise(batch, nest_.sizesOf(roles_.batch));
      forEach(rows_, tile_.rows, [&](Value row) {
        forEach(columns_, tile_.columns, [&](Value column) { emitTile(row, column); });
      });
    });
  }

 private:
  PanelSource sourceOf(const Factor& factor) {
    PanelSource source{factor.operand->get(),
                       op_.getMatchingIndexingMap(factor.operand),
                       factor.loops,
                       factor.value.getType(),
                       {}};
    if (!isa<BlockArgument>(factor.value))
      source.unpack = [&factor](OpBuilder& b, Location loc, Value element) {
        return emitFactor(b, loc, factor, element);
      };
    return source;
  }

  void readSizes() {
    nest_.batch = roles_.batch;
    nest_.reductions = roles_.reductions;
    const SmallVector<std::int64_t> fixed = op_.getStaticLoopRanges();
    for (const std::int64_t extent : fixed) nest_.sizes.push_back(b_.getIndexAttr(extent));
    for (OpOperand& operand : op_->getOpOperands())
      for (auto [i, expression] : llvm::enumerate(op_.getMatchingIndexingMap(&operand).getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expression);
        if (!loop || !ShapedType::isDynamic(fixed[loop.getPosition()])) continue;
        OpFoldResult& size = nest_.sizes[loop.getPosition()];
        if (!isa<Value>(size))
          size = b_.createOrFold<memref::DimOp>(loc_, operand.get(), static_cast<std::int64_t>(i));
      }
  }

  // The same for all threads.
  void forEach(OpFoldResult extent, std::int64_t step, llvm::function_ref<void(Value)> body) {
    if (const auto most = upperBound(extent); most && *most <= step) return body(math_.number(0));
    auto loop = scf::ForOp::create(b_, loc_, math_.number(0), math_.value(extent), math_.number(step));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  // A row or column of this thread: its loops, and whether it exists (null: it does).
  struct Position {
    SmallVector<Value> loops;
    Value isInside;
  };
  SmallVector<Position> positionsOf(ArrayRef<Value> inTile, Value from, OpFoldResult extent,
                                    std::int64_t step, ArrayRef<unsigned> loops) {
    SmallVector<Position> positions;
    const auto fixed = getConstantIntValue(extent);
    const bool whole = fixed && *fixed % step == 0;
    for (Value at : inTile) {
      Position& position = positions.emplace_back();
      Value linear = math_.add(from, at);
      if (!whole) {
        position.isInside = math_.less(linear, math_.value(extent));
        linear = arith::SelectOp::create(b_, loc_, position.isInside, linear, math_.number(0));
      }
      position.loops = math_.delinearise(linear, nest_.sizesOf(loops));
    }
    return positions;
  }

  // The place of a result in the contraction's buffer.
  SmallVector<Value> indicesOf(const Position& row, const Position& column) {
    SmallVector<Value> loops(op_.getNumLoops());
    auto set = [&](ArrayRef<unsigned> dims, ArrayRef<Value> values) {
      for (auto [dim, value] : llvm::zip_equal(dims, values)) loops[dim] = value;
    };
    set(roles_.batch, batch_);
    set(roles_.left.loops, row.loops);
    set(roles_.right.loops, column.loops);
    const AffineMap out = op_.getMatchingIndexingMap(op_.getDpsInitOperand(0));
    SmallVector<Value> indices;
    for (unsigned i = 0; i < out.getNumResults(); ++i) indices.push_back(loops[out.getDimPosition(i)]);
    return indices;
  }

  void emitTile(Value row, Value column) {
    const auto rows = positionsOf(product_->rows(), row, rows_, tile_.rows, roles_.left.loops);
    const auto columns =
        positionsOf(product_->columns(), column, columns_, tile_.columns, roles_.right.loops);
    left_->setRows(batch_, row);
    right_->setRows(batch_, column);
    SmallVector<Value> sums;
    for (const Accumulator at : product_->accumulators())
      sums.push_back(prologueEpilogue_.begin(b_, indicesOf(rows[at.row], columns[at.column])));
    sums = reduce(std::move(sums));
    for (auto [at, sum] : llvm::zip_equal(product_->accumulators(), sums)) {
      Value isOwn =
          math_.both(product_->isActive(), math_.both(rows[at.row].isInside, columns[at.column].isInside));
      OpBuilder::InsertionGuard guard(b_);
      if (isOwn) {
        auto guarded = scf::IfOp::create(b_, loc_, isOwn);
        b_.setInsertionPointToStart(guarded.thenBlock());
      }
      prologueEpilogue_.finish(b_, sum, indicesOf(rows[at.row], columns[at.column]));
    }
  }

  void barrier() { gpu::BarrierOp::create(b_, loc_); }

  SmallVector<Value> load(Value from) {
    SmallVector<Value> loaded = left_->load(from);
    loaded.append(right_->load(from));
    return loaded;
  }
  // Pieces one after the other; the next one is loaded while this one is multiplied.
  SmallVector<Value> reduce(SmallVector<Value> sums) {
    const auto depth = getConstantIntValue(depth_);
    const std::size_t results = sums.size(), split = left_->slots();
    auto put = [&](ValueRange loaded) {
      barrier();  // the panels have been read
      left_->store(loaded.take_front(split));
      right_->store(loaded.drop_front(split));
      barrier();
    };
    if (depth && *depth <= tile_.depth) {
      if (*depth == 0) return sums;
      put(load(math_.number(0)));
      return product_->add(sums, *left_, *right_,
                           *depth < tile_.depth && !product_->takesZeros() ? math_.number(*depth) : Value());
    }
    Value end = math_.value(depth_);
    SmallVector<Value> carried = std::move(sums);
    carried.append(depth ? load(math_.number(0)) : loadIf(math_.less(math_.number(0), end), math_.number(0)));
    auto loop = scf::ForOp::create(b_, loc_, math_.number(0), end, math_.number(tile_.depth), carried);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    const ValueRange arguments = loop.getRegionIterArgs();
    put(arguments.drop_front(results));
    Value next = math_.add(loop.getInductionVar(), tile_.depth);
    SmallVector<Value> following = loadIf(math_.less(next, end), next);
    const SmallVector<Value> before(arguments.take_front(results));
    SmallVector<Value> after;
    if (product_->takesZeros() || (depth && *depth % tile_.depth == 0)) {
      after = product_->add(before, *left_, *right_, {});
    } else {
      // The last piece is shorter.
      Value left = math_.sub(end, loop.getInductionVar());
      after = choose(
          arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::uge, left, math_.number(tile_.depth)),
          [&] { return product_->add(before, *left_, *right_, {}); },
          [&] { return product_->add(before, *left_, *right_, left); });
    }
    after.append(following);
    scf::YieldOp::create(b_, loc_, after);
    return SmallVector<Value>(loop.getResults().take_front(results));
  }

  SmallVector<Value> loadIf(Value condition, Value from) {
    return choose(
        condition, [&] { return load(from); },
        [&] {
          SmallVector<Value> zeros = left_->zeros();
          zeros.append(right_->zeros());
          return zeros;
        });
  }
  SmallVector<Value> choose(Value condition, llvm::function_ref<SmallVector<Value>()> then,
                            llvm::function_ref<SmallVector<Value>()> otherwise) {
    auto branch = scf::IfOp::create(
        b_, loc_, condition, [&](OpBuilder& b, Location loc) { scf::YieldOp::create(b, loc, then()); },
        [&](OpBuilder& b, Location loc) { scf::YieldOp::create(b, loc, otherwise()); });
    return SmallVector<Value>(branch.getResults());
  }

  RewriterBase& b_;
  linalg::LinalgOp op_;
  Location loc_;
  IndexMath math_;
  const Contraction& roles_;
  const PrologueEpilogue& prologueEpilogue_;
  std::optional<TensorCore> core_;
  bool fuse_;
  BlockThread thread_;
  ProductLoops nest_;
  OpFoldResult rows_, columns_, depth_;  // extents in all
  TileShape tile_;
  std::optional<GatheredPanel> left_, right_;
  std::unique_ptr<TileProduct> product_;
  SmallVector<Value> batch_;
};

class ContractionPlan : public Plan {
 public:
  ContractionPlan(PlannedContraction plan, const BlockThread& thread)
      : plan_(std::move(plan)), thread_(thread) {}
  SmallVector<Operation*> parts() const override { return plan_.prologueEpilogue.absorbed(); }
  void emit(RewriterBase& rewriter) override {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(plan_.prologueEpilogue.place());
    Emitter(rewriter, plan_, thread_).emit();
    plan_.prologueEpilogue.erase(rewriter);
  }

 private:
  PlannedContraction plan_;
  BlockThread thread_;
};

std::optional<TensorCore> tensorCoreFor(linalg::LinalgOp op, const Contraction& roles,
                                        const GpuOptions& options) {
  if (!options.tensorCores || !getElementTypeOrSelf(op.getDpsInits()[0].getType()).isF32())
    return std::nullopt;
  const Multiplicand left = roles.left.multiplicand, right = roles.right.multiplicand;
  if (left == right && left == Multiplicand::kF16) return TensorCore::kF16;
  if (left == right && left == Multiplicand::kBF16) return TensorCore::kBF16;
  // A factor that is computed from what is loaded is not 0 where a panel is filled with zeros.
  const auto isPlain = [](const Factor& side) {
    return side.value.getType().isF32() &&
           (isa<BlockArgument>(side.value) || side.multiplicand == Multiplicand::kF16 ||
            side.multiplicand == Multiplicand::kBF16);
  };
  if (options.tf32 && isPlain(roles.left) && isPlain(roles.right)) return TensorCore::kTf32;
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Plan> planContraction(linalg::LinalgOp op, const BlockThread& thread,
                                      const GpuOptions& options) {
  auto roles = findContraction(op);
  if (!roles) return nullptr;
  for (ArrayRef<unsigned> loops :
       {ArrayRef(roles->left.loops), ArrayRef(roles->right.loops), ArrayRef(roles->reductions)})
    if (staticPositions(op, loops).value_or(kFewToShare) < kFewToShare) return nullptr;
  const auto core = tensorCoreFor(op, *roles, options);
  return std::make_unique<ContractionPlan>(
      PlannedContraction{op, std::move(*roles), PrologueEpilogue(op), core, options.contraction}, thread);
}

}  // namespace kiln::schedule
