#include "compiler_core/schedule/strategies/gpu_attention/attention.h"

#include <limits>

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/schedule/analysis/extents.h"
#include "compiler_core/schedule/analysis/kernel_info.h"
#include "compiler_core/schedule/emit/gpu/products.h"
#include "compiler_core/schedule/lower/scalar.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

struct AttentionShape {
  std::int64_t queries = 64, keys = 32;  // of a tile
  std::int64_t depth = 16;               // of the panels that scores are made from
  std::int64_t values = 0;               // columns of results, a power of two
  std::int64_t threads = 256;
};

std::int64_t powerOfTwo(std::int64_t extent, std::int64_t least, std::int64_t most) {
  std::int64_t size = least;
  while (size < most && size < extent) size *= 2;
  return size;
}

// Shared memory of all panels, in bytes, their padding included.
std::int64_t bytesOf(const AttentionShape& s, std::optional<TensorCore> core) {
  const std::int64_t stats = 3 * s.queries * 4, scores = s.keys * (s.queries + 4) * 4;
  if (!core) return stats + scores + s.depth * (s.queries + s.keys + 8) * 4 + s.keys * (s.values + 4) * 4;
  const std::int64_t bytes = *core == TensorCore::kTf32 ? 4 : 2, pad = 16 / bytes, parts = 4 / bytes;
  return stats + scores + (s.queries + s.keys) * (s.depth + pad) * bytes +
         (parts * s.queries + s.values) * (s.keys + pad) * bytes;
}

AttentionShape chooseShape(std::int64_t queries, std::int64_t keys, std::int64_t depth, std::int64_t values,
                           std::optional<TensorCore> core, std::int64_t sharedBytes) {
  const std::int64_t kShared = sharedBytes - (1 << 10);  // leaves a reserve for alignment
  constexpr std::int64_t kAccumulatorBytes = 256;
  const auto size = [](std::int64_t extent, std::int64_t most) {
    return ShapedType::isDynamic(extent) ? most : powerOfTwo(extent, 16, most);
  };
  AttentionShape s;
  s.queries = size(queries, 64);
  s.keys = size(keys, 32);
  s.depth = core && *core != TensorCore::kTf32 ? size(depth, 32) : 16;
  s.values = powerOfTwo(values, 16, values * 2);
  while (s.queries > 16 && bytesOf(s, core) > kShared) s.queries /= 2;
  while (s.keys > 16 && bytesOf(s, core) > kShared) s.keys /= 2;
  // Four threads per query.
  s.threads = std::max<std::int64_t>(64, 4 * s.queries);
  while (s.queries * s.values * 4 > s.threads * kAccumulatorBytes) s.threads *= 2;
  return s;
}

Type elementOf(Builder& b, std::int64_t storage) {
  switch (static_cast<FactorStorage>(storage)) {
    case FactorStorage::kF16:
      return b.getF16Type();
    case FactorStorage::kBF16:
      return b.getBF16Type();
    case FactorStorage::kF32:
      break;
  }
  return b.getF32Type();
}

class AttentionEmitter {
 public:
  AttentionEmitter(RewriterBase& rewriter, ir::CallOp call, const GpuOptions& options)
      : b_(rewriter), call_(call), loc_(call.getLoc()), math_(rewriter, loc_), options_(options) {
    const auto parameters = call.getParameters();
    for (unsigned i = 0; i < 3; ++i) elements_[i] = elementOf(b_, parameters[i]);
    scale_ = llvm::bit_cast<double>(parameters[3]);
    if (!options.tensorCores) return;
    if (llvm::all_of(elements_, [](Type type) { return type.isF16(); }))
      core_ = TensorCore::kF16;
    else if (llvm::all_of(elements_, [](Type type) { return type.isBF16(); }))
      core_ = TensorCore::kBF16;
    else if (options.tf32)
      core_ = TensorCore::kTf32;
  }

  void emit() {
    b_.setInsertionPoint(call_);
    Value query = call_.getInputs()[0], key = call_.getInputs()[1];
    out_ = call_.getInits()[0];
    auto extent = [&](Value buffer, std::int64_t dim) {
      return getAsOpFoldResult(b_.createOrFold<memref::DimOp>(loc_, buffer, dim));
    };
    // b, h, l, s, e and b, h, f, s.
    scores_.sizes = {extent(query, 0), extent(query, 1), extent(query, 2), extent(key, 2), extent(query, 3)};
    scores_.batch = {0, 1};
    scores_.reductions = {4};
    values_.sizes = {scores_.sizes[0], scores_.sizes[1], extent(out_, 3), scores_.sizes[3]};
    values_.batch = {0, 1};
    values_.reductions = {3};
    auto fixed = [&](OpFoldResult size) { return getConstantIntValue(size).value_or(ShapedType::kDynamic); };
    shape_ = chooseShape(fixed(scores_.sizes[2]), fixed(scores_.sizes[3]), fixed(scores_.sizes[4]),
                         *getConstantIntValue(values_.sizes[2]), core_, options_.sharedBytes);
    const OpFoldResult zero = b_.getIndexAttr(0), one = b_.getIndexAttr(1);
    auto blocks = scf::ForallOp::create(
        b_, loc_, ArrayRef<OpFoldResult>{zero, zero, zero}, ArrayRef(scores_.sizes).take_front(3),
        ArrayRef<OpFoldResult>{one, one, b_.getIndexAttr(shape_.queries)}, ValueRange(), std::nullopt);
    ir::KernelAttr::set(blocks, describe());
    b_.setInsertionPointToStart(blocks.getBody());
    batch_ = {blocks.getInductionVar(0), blocks.getInductionVar(1)};
    firstQuery_ = blocks.getInductionVar(2);
    emitBlock();
    b_.eraseOp(call_);
  }

 private:
  DictionaryAttr describe() {
    SmallVector<std::int64_t> loops;
    for (const OpFoldResult size : ArrayRef(scores_.sizes).take_front(3))
      loops.push_back(getConstantIntValue(size).value_or(kUnknownExtent));
    Schedule schedule;
    setList(schedule, kTileKnob, {1, 1, shape_.queries});
    setNumber(schedule, kThreadsKnob, shape_.threads);
    return kernelInfo(b_.getContext(), ir::nodeNames(loc_), "device attention", loops, schedule);
  }

  PanelSource sourceOf(unsigned input, AffineMap map, unsigned row) {
    const Type element = elements_[input];
    PanelSource source{call_.getInputs()[input], map, {row}, b_.getF32Type(), {}};
    if (isSmallFloat(element))
      source.unpack = [element](OpBuilder& b, Location loc, Value stored) {
        return unpack(b, loc, stored, element);
      };
    return source;
  }
  AffineMap map(unsigned loops, ArrayRef<unsigned> dims) {
    return AffineMap::getMultiDimMapWithTargets(loops, dims, b_.getContext());
  }
  PanelShape panel(std::int64_t rows, std::int64_t depth) const {
    PanelShape shape{rows, depth};
    if (core_) {
      shape.order = PanelOrder::kDepthInside;
      shape.codes = *core_ != TensorCore::kTf32;
      shape.roundsTf32 = *core_ == TensorCore::kTf32;
    }
    return shape;
  }
  std::unique_ptr<TileProduct> product(std::int64_t columns, std::int64_t depth) {
    const TileShape tile{shape_.queries, columns, depth};
    if (core_) return makeWarpProduct(b_, loc_, *core_, tile, thread_);
    return makeScalarProduct(b_, loc_, tile, thread_, options_.contraction);
  }
  Value statistic() {
    auto alloc = memref::AllocOp::create(b_, loc_, MemRefType::get({shape_.queries}, b_.getF32Type()),
                                         b_.getI64IntegerAttr(64));
    ir::PanelAttr::set(alloc, b_.getUnitAttr());
    return alloc;
  }

  void emitBlock() {
    thread_ = {gpu::ThreadIdOp::create(b_, loc_, gpu::Dimension::x, b_.getIndexAttr(shape_.threads)),
               shape_.threads};
    queries_.emplace(b_, loc_, scores_, sourceOf(0, map(5, {0, 1, 2, 4}), 2),
                     panel(shape_.queries, shape_.depth), thread_);
    keys_.emplace(b_, loc_, scores_, sourceOf(1, map(5, {0, 1, 3, 4}), 3), panel(shape_.keys, shape_.depth),
                  thread_);
    rows_.emplace(b_, loc_, values_, sourceOf(2, map(4, {0, 1, 3, 2}), 2), panel(shape_.values, shape_.keys),
                  thread_);
    // [key][query], so that threads side by side read side by side.
    table_.emplace(b_, loc_, PanelShape{shape_.queries, shape_.keys}, b_.getF32Type());
    if (core_) {
      const PanelShape shape = panel(shape_.queries, shape_.keys);
      weights_.emplace(b_, loc_, shape, shape.codes ? Type(b_.getI16Type()) : Type(b_.getF32Type()));
      if (shape.codes) rests_.emplace(b_, loc_, shape, b_.getI16Type());
    }
    shift_ = statistic();
    rescale_ = statistic();
    total_ = statistic();
    byKey_ = product(shape_.keys, shape_.depth);
    byValue_ = product(shape_.values, shape_.keys);
    // The query whose statistics this thread follows; further threads do it once more.
    query_ = math_.rem(thread_.number, shape_.queries);
    isFirst_ = math_.less(thread_.number, shape_.queries);
    queries_->setRows(batch_, firstQuery_);
    rows_->setRows(batch_, math_.number(0));

    SmallVector<Value> carried = {real(-std::numeric_limits<double>::infinity()), real(0)};
    carried.append(byValue_->accumulators().size(), real(0));
    auto loop = scf::ForOp::create(b_, loc_, math_.number(0), math_.value(scores_.sizes[3]),
                                   math_.number(shape_.keys), carried);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(loop.getBody());
      scf::YieldOp::create(b_, loc_, emitKeys(loop.getInductionVar(), loop.getRegionIterArgs()));
    }
    finish(loop.getResult(1), loop.getResults().drop_front(2));
  }

  Value real(double value) {
    return arith::ConstantOp::create(b_, loc_, b_.getFloatAttr(b_.getF32Type(), value));
  }
  void barrier() { gpu::BarrierOp::create(b_, loc_); }
  void inside(Value condition, llvm::function_ref<void()> body) {
    if (!condition) return body();
    auto branch = scf::IfOp::create(b_, loc_, condition);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.thenBlock());
    body();
  }
  // body(k, value) for all keys of a tile.
  Value overKeys(Value from, llvm::function_ref<Value(Value, Value)> body) {
    auto loop =
        scf::ForOp::create(b_, loc_, math_.number(0), math_.number(shape_.keys), math_.number(1), from);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b_, loc_, body(loop.getInductionVar(), loop.getRegionIterArg(0)));
    return loop.getResult(0);
  }

  // One tile of keys. `carried`: this thread's largest score and sum of weights, and its results.
  SmallVector<Value> emitKeys(Value firstKey, ValueRange carried) {
    putScores(firstKey);
    const SmallVector<Value> loaded = rows_->load(firstKey);
    barrier();
    Value before = carried[0];
    Value most = overKeys(before, [&](Value key, Value value) -> Value {
      return arith::MaximumFOp::create(b_, loc_, value, table_->read(query_, key, 0));
    });
    // Masked everywhere so far: every weight is 0.
    Value dead = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::OEQ, most,
                                       real(-std::numeric_limits<double>::infinity()));
    Value shift = arith::SelectOp::create(b_, loc_, dead, real(0), most);
    Value rescale = math::ExpOp::create(b_, loc_, arith::SubFOp::create(b_, loc_, before, shift));
    inside(isFirst_, [&] {
      memref::StoreOp::create(b_, loc_, shift, shift_, query_);
      memref::StoreOp::create(b_, loc_, rescale, rescale_, query_);
    });
    barrier();
    putWeights();
    rows_->store(loaded);
    barrier();
    Value sum = overKeys(real(0), [&](Value key, Value value) -> Value {
      return arith::AddFOp::create(b_, loc_, value, table_->read(query_, key, 0));
    });
    sum = arith::AddFOp::create(b_, loc_, arith::MulFOp::create(b_, loc_, carried[1], rescale), sum);
    SmallVector<Value> factors, results;
    for (Value row : byValue_->rows()) factors.push_back(memref::LoadOp::create(b_, loc_, rescale_, row));
    for (auto [at, value] : llvm::zip_equal(byValue_->accumulators(), carried.drop_front(2)))
      results.push_back(arith::MulFOp::create(b_, loc_, value, factors[at.row]));
    const Panel& left = core_ ? *weights_ : *table_;
    SmallVector<Value> next = {most, sum};
    results = byValue_->add(results, left, *rows_, {});
    if (rests_) results = byValue_->add(results, *rests_, *rows_, {});
    next.append(results);
    return next;
  }

  // Scaled and masked scores of a tile.
  void putScores(Value firstKey) {
    keys_->setRows(batch_, firstKey);
    const SmallVector<Value> zeros(byKey_->accumulators().size(), real(0));
    auto loop = scf::ForOp::create(b_, loc_, math_.number(0), math_.value(scores_.sizes[4]),
                                   math_.number(shape_.depth), zeros);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(loop.getBody());
      const auto query = queries_->load(loop.getInductionVar()), key = keys_->load(loop.getInductionVar());
      barrier();  // the panels, and the table of the tile before, have been read
      queries_->store(query);
      keys_->store(key);
      barrier();
      const SmallVector<Value> sums(loop.getRegionIterArgs());
      scf::YieldOp::create(b_, loc_, byKey_->add(sums, *queries_, *keys_, {}));
    }
    const auto count = getConstantIntValue(scores_.sizes[3]);
    SmallVector<Value> isKey, keys, queries;
    for (Value column : byKey_->columns()) {
      Value key = math_.add(firstKey, column);
      isKey.push_back(count && *count % shape_.keys == 0 ? Value()
                                                         : math_.less(key, math_.value(scores_.sizes[3])));
      keys.push_back(orZero(isKey.back(), key));
    }
    for (Value row : byKey_->rows()) queries.push_back(orZero(isQuery(row), math_.add(firstQuery_, row)));
    inside(byKey_->isActive(), [&] {
      for (auto [at, sum] : llvm::zip_equal(byKey_->accumulators(), loop.getResults())) {
        Value score = arith::MulFOp::create(b_, loc_, sum, real(scale_));
        if (call_.getInputs().size() > 3) {
          Value mask =
              memref::LoadOp::create(b_, loc_, call_.getInputs()[3],
                                     ValueRange{batch_[0], batch_[1], queries[at.row], keys[at.column]});
          score = arith::AddFOp::create(b_, loc_, score, mask);
        }
        if (Value exists = isKey[at.column])
          score = arith::SelectOp::create(b_, loc_, exists, score,
                                          real(-std::numeric_limits<double>::infinity()));
        table_->write(score, byKey_->rows()[at.row], byKey_->columns()[at.column]);
      }
    });
  }

  Value orZero(Value condition, Value index) {
    return condition ? arith::SelectOp::create(b_, loc_, condition, index, math_.number(0)).getResult()
                     : index;
  }
  // Null: every row of a tile is one.
  Value isQuery(Value row) {
    const auto count = getConstantIntValue(scores_.sizes[2]);
    if (count && *count % shape_.queries == 0) return {};
    return math_.less(math_.add(firstQuery_, row), math_.value(scores_.sizes[2]));
  }

  // exp(score - shift), all threads together. Tensor cores of 16 bits get a weight as a sum of two numbers,
  // so that the results are as exact as f32 is: the model rounds these, not the weights.
  void putWeights() {
    const std::int64_t elements = shape_.queries * shape_.keys;
    for (std::int64_t first = 0; first < elements; first += thread_.count) {
      Value at = math_.add(thread_.number, first);
      inside(first + thread_.count > elements ? math_.less(at, elements) : Value(), [&] {
        Value query = math_.rem(at, shape_.queries), key = math_.div(at, shape_.queries);
        Value shift = memref::LoadOp::create(b_, loc_, shift_, query);
        Value weight = math::ExpOp::create(
            b_, loc_, arith::SubFOp::create(b_, loc_, table_->read(query, key, 0), shift));
        table_->write(weight, query, key);
        if (!core_) return;
        if (!rests_) return weights_->write(weight, query, key);
        Value code = pack(b_, loc_, weight, elements_[2]);
        Value rest = arith::SubFOp::create(b_, loc_, weight, unpack(b_, loc_, code, elements_[2]));
        weights_->write(code, query, key);
        rests_->write(pack(b_, loc_, rest, elements_[2]), query, key);
      });
    }
  }

  void finish(Value sum, ValueRange results) {
    inside(isFirst_, [&] { memref::StoreOp::create(b_, loc_, sum, total_, query_); });
    barrier();
    SmallVector<Value> divisors;
    for (Value row : byValue_->rows()) {
      Value total = memref::LoadOp::create(b_, loc_, total_, row);
      Value none = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::OEQ, total, real(0));
      divisors.push_back(arith::SelectOp::create(b_, loc_, none, real(1), total));
    }
    const std::int64_t columns = *getConstantIntValue(values_.sizes[2]);
    for (auto [at, value] : llvm::zip_equal(byValue_->accumulators(), results)) {
      Value row = byValue_->rows()[at.row], column = byValue_->columns()[at.column];
      Value exists =
          math_.both(isQuery(row), columns == shape_.values ? Value() : math_.less(column, columns));
      inside(math_.both(byValue_->isActive(), exists), [&] {
        Value result = arith::DivFOp::create(b_, loc_, value, divisors[at.row]);
        memref::StoreOp::create(b_, loc_, result, out_,
                                ValueRange{batch_[0], batch_[1], math_.add(firstQuery_, row), column});
      });
    }
  }

  RewriterBase& b_;
  ir::CallOp call_;
  Location loc_;
  IndexMath math_;
  const GpuOptions& options_;
  Type elements_[3];  // of query, key and value at the graph level
  double scale_ = 1;
  std::optional<TensorCore> core_;
  AttentionShape shape_;
  ProductLoops scores_, values_;
  BlockThread thread_;
  Value out_, firstQuery_;
  SmallVector<Value> batch_;
  std::optional<GatheredPanel> queries_, keys_, rows_;
  std::optional<Panel> table_, weights_,
      rests_;  // scores and weights; weights as factors, what these leave of them
  std::unique_ptr<TileProduct> byKey_, byValue_;
  Value shift_, rescale_, total_;  // per query
  Value query_, isFirst_;
};

}  // namespace

void emitAttention(RewriterBase& rewriter, ir::CallOp call, const GpuOptions& options) {
  OpBuilder::InsertionGuard guard(rewriter);
  AttentionEmitter(rewriter, call, options).emit();
}

}  // namespace kiln::schedule
