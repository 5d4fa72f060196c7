// GroupQueryAttention, whose keys and values lie in a cache, and RotaryEmbedding.
#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/onnx/formula/check_indices.h"
#include "compiler_core/frontend/onnx/operators/contrib/contrib.h"
#include "compiler_core/frontend/onnx/operators/heads.h"
#include "compiler_core/frontend/onnx/operators/shared.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

// Cosines and sines by position, [positions, half of the turned elements] each.
struct Angles {
  Value cosine, sine;
  bool interleaved = false;
};

// x [batch, heads, length, size] turned by the angles of `positions` [batch or 1, length].
Result<Term> turned(NodeContext& node, const Term& x, const Angles& angles, const Term& positions) {
  if (!x.ok()) return fail(x.value().error());
  KILN_ASSIGN(Value rows, positions.value());
  const Shape shape = x.shape(), cache = dimsOf(angles.cosine), at = dimsOf(rows);
  if (cache.size() != 2 || dimsOf(angles.sine) != cache || !cache[1].isStatic())
    return invalid("cos_cache and sin_cache are not two matrices of one shape");
  if (!shape[3].isStatic())
    return fail(Code::kUnimplemented, "the head's size must be known at compile time");
  if (cache[1].value() < 1 || 2 * cache[1].value() > shape[3].value())
    return invalid("cos_cache and sin_cache turn more elements than a head has");
  KILN_TRY(checkIndices(node, rows, cache[0]));
  const auto table = [&](Value given) {
    return Term(node, given).gather(positions, 0).reshape({at[0], Dim(1), at[1], cache[1]});
  };
  return Term(node, rotated(node, x, table(angles.cosine), table(angles.sine), angles.interleaved));
}

Result<Values> rotaryEmbedding(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value positionIds, node.input(1));
  Angles angles;
  KILN_ASSIGN(angles.cosine, node.input(2));
  KILN_ASSIGN(angles.sine, node.input(3));
  KILN_ASSIGN(std::int64_t heads, node.integer("num_heads", 0));
  KILN_ASSIGN(std::int64_t turnedSize, node.integer("rotary_embedding_dim", 0));
  KILN_ASSIGN(std::int64_t interleaved, node.integer("interleaved", 0));
  KILN_TRY(serveOnly(node, "is_packed_batching", 0));
  KILN_ASSIGN(float scale, node.real("scale", 1.0f));
  if (scale != 1.0f) return fail(Code::kUnimplemented, "attribute 'scale' other than 1 is not served");
  angles.interleaved = interleaved != 0;
  const Shape given = dimsOf(input);
  if (rankOf(angles.cosine) != 2 || !dimsOf(angles.cosine)[1].isStatic())
    return invalid("cos_cache is no matrix of a known width");
  const std::int64_t width = 2 * dimsOf(angles.cosine)[1].value();
  if (turnedSize && turnedSize != width)
    return invalid("rotary_embedding_dim is " + std::to_string(turnedSize) + ", cos_cache turns " +
                   std::to_string(width));
  // Without a number of heads a head is what the caches turn.
  if (given.size() == 3 && heads == 0) {
    const auto count = width > 0 ? ir::exactDiv(given[2], Dim(width)) : std::nullopt;
    if (!count || !count->isStatic()) return unfit("cos_cache does not divide the hidden size", {given[2]});
    heads = count->value();
  }
  KILN_ASSIGN(Term x, asHeads(node, input, heads));
  if (!x.ok()) return fail(x.value().error());
  const Shape shape = x.shape(), ids = dimsOf(positionIds);
  const mlir::Type i64 = mlir::IntegerType::get(node.context(), 64);
  // One id is that of the first position.
  Term positions = Term(node, positionIds).index();
  if (ids == Shape{Dim(1)})
    positions = positions.reshape({Dim(1), Dim(1)}) + countAlong(node, i64, shape[2], 1, 2);
  else if (ids != Shape{shape[0], shape[2]})
    return invalid("position_ids have shape " + node.describe(ids));
  KILN_ASSIGN(Term result, turned(node, x, angles, positions));
  KILN_ASSIGN(Value value, (given.size() == 3 ? joinedHeads(result) : result).value());
  return Values{value};
}

struct Grouped {
  std::int64_t heads = 0, keyHeads = 0, window = -1;
  bool rotary = false, interleaved = false;
  Scoring scoring;
};

Result<Grouped> readGrouped(NodeContext& node) {
  Grouped s;
  KILN_ASSIGN(s.heads, headsOf(node, "num_heads"));
  KILN_ASSIGN(s.keyHeads, headsOf(node, "kv_num_heads"));
  KILN_ASSIGN(s.window, node.integer("local_window_size", -1));
  KILN_ASSIGN(std::int64_t rotary, node.integer("do_rotary", 0));
  KILN_ASSIGN(std::int64_t interleaved, node.integer("rotary_interleaved", 0));
  KILN_ASSIGN(float scale, node.real("scale", 0));
  KILN_ASSIGN(float softcap, node.real("softcap", 0));
  s.rotary = rotary != 0;
  s.interleaved = interleaved != 0;
  if (scale != 0) s.scoring.scale = scale;
  s.scoring.softcap = softcap;
  if (s.window < -1 || s.window == 0) return invalid("local_window_size is " + std::to_string(s.window));
  KILN_TRY(serveOnly(node, "causal", 1));
  KILN_TRY(serveOnly(node, "sliding_window_cache", 0));
  KILN_TRY(serveOnly(node, "kv_cache_bit_width", 0));
  KILN_TRY(serveOnly(node, "qk_output", 0));
  KILN_ASSIGN(std::int64_t smooth, node.integer("smooth_softmax", 0));
  if (smooth > 0) return fail(Code::kUnimplemented, "attribute 'smooth_softmax' is not served");
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    KILN_ASSIGN(std::string type, node.text(name, "NONE"));
    if (type != "NONE")
      return fail(Code::kUnimplemented,
                  "attribute '" + std::string(name) + "' of " + type + " is not served");
  }
  // Means nothing without the weights that are refused below.
  KILN_TRY(node.real("qk_norm_epsilon", 0));
  KILN_TRY(refuseInput(node, 11, "head_sink"));
  KILN_TRY(refuseInput(node, 12, "k_scale"));
  KILN_TRY(refuseInput(node, 13, "v_scale"));
  KILN_TRY(refuseInput(node, 14, "q_norm_weight"));
  KILN_TRY(refuseInput(node, 15, "k_norm_weight"));
  return s;
}

struct Heads {
  Term query, key, value;
};

// The inputs by heads, also where all three lie side by side in the first.
Result<Heads> groupedHeads(NodeContext& node, const Grouped& s) {
  KILN_ASSIGN(Value query, node.input(0));
  if (rankOf(query) != 3) return invalid("query has rank " + std::to_string(rankOf(query)));
  if (node.hasInput(1) != node.hasInput(2)) return invalid("key and value come together");
  const auto byHeads = [&](Value value, std::int64_t heads) { return asHeads(node, value, heads); };
  if (node.hasInput(1)) {
    KILN_ASSIGN(Term q, byHeads(query, s.heads));
    KILN_ASSIGN(Term k, byHeads(node.inputs()[1], s.keyHeads));
    KILN_ASSIGN(Term v, byHeads(node.inputs()[2], s.keyHeads));
    return Heads{q, k, v};
  }
  // [batch, heads + 2 * key heads, length, size]
  KILN_ASSIGN(Term all, byHeads(query, s.heads + 2 * s.keyHeads));
  KILN_ASSIGN(Value packed, all.value());
  const Shape shape = dimsOf(packed);
  const auto part = [&](std::int64_t from, std::int64_t count) {
    return Term(node, node.slice(packed, {0, from, 0, 0}, {1, 1, 1, 1},
                                 Shape{shape[0], Dim(count), shape[2], shape[3]}));
  };
  return Heads{part(0, s.heads), part(s.heads, s.keyHeads), part(s.heads + s.keyHeads, s.keyHeads)};
}

// Where the new keys stand and how long the cache is that results.
struct Cache {
  bool past = false;
  Dim length;   // of the cache that results
  Term before;  // keys of each sample that stand before the new ones, [batch, 1]
};

// The cache is as long as the past one, where that has room for all keys, or longer by what is new; which of
// the two has to show before a run: by total_sequence_length, and where that is the data's, it is the former.
Result<Cache> readCache(NodeContext& node, const Dim& batch, const Dim& added) {
  const mlir::Type i64 = mlir::IntegerType::get(node.context(), 64);
  KILN_ASSIGN(Value lengths, node.input(5));
  KILN_ASSIGN(Value total, node.input(6));
  if (node.hasInput(3) != node.hasInput(4)) return invalid("past_key and past_value come together");
  const Term none(node, node.filled(i64, Shape{batch, Dim(1)}, 0));
  if (!(ir::product(dimsOf(lengths)) == batch))
    return unfit("seqlens_k has not one element per sample", {ir::product(dimsOf(lengths)), batch});
  if (!node.hasInput(3)) return Cache{false, added, none};
  if (rankOf(node.inputs()[3]) != 4 || dimsOf(node.inputs()[3]) != dimsOf(node.inputs()[4]))
    return invalid("past_key and past_value are not two tensors of rank 4 and one shape");
  const Dim room = dimsOf(node.inputs()[3])[2];
  if (room == Dim(0)) return Cache{false, added, none};
  const auto known = NodeContext::symbolicIntegers(total);
  Dim length = room;
  if (known && known->size() == 1) {
    const Dim all = known->front();
    const auto free = node.rangeOf(room - all);
    if (all == room + added || (free && free->max < 0))
      length = all;
    else if (!free || free->min < 0)
      return node.undecided("whether total_sequence_length, " + node.describe(all) +
                            ", fits into the past of length " + node.describe(room));
  }
  // A prompt starts the cache anew; later tokens stand behind those before them.
  const Term whole = Term(node, total).index().reshape(Shape{}), fresh = extentOf(node, i64, added);
  const Term behind = Term(node, lengths).index().reshape({batch, Dim(1)}) + 1.0 - fresh;
  return Cache{true, length, (whole == fresh).select(none, behind)};
}

// `now` behind what the past holds of each sample.
Result<Term> cached(NodeContext& node, const Cache& cache, std::size_t past, const Term& now) {
  if (!cache.past) return now;
  KILN_ASSIGN(Value update, now.value());
  Value before = node.inputs()[past];
  const Shape shape = dimsOf(before);
  if (!(cache.length == shape[2])) {
    KILN_ASSIGN(Value rest, node.filled(elementOf(before),
                                        Shape{shape[0], shape[1], cache.length - shape[2], shape[3]}, 0));
    KILN_ASSIGN(before, node.concat({before, rest}, 2));
  }
  KILN_ASSIGN(Value starts, cache.before.reshape({shape[0]}).value());
  return Term(node, writtenAt(node, {before, update, starts}, 2, false));
}

Result<Values> groupQueryAttention(NodeContext& node) {
  KILN_ASSIGN(Grouped s, readGrouped(node));
  KILN_ASSIGN(Heads heads, groupedHeads(node, s));
  if (!heads.query.ok()) return fail(heads.query.value().error());
  const Shape q = heads.query.shape();
  KILN_ASSIGN(Cache cache, readCache(node, q[0], q[2]));
  const mlir::Type i64 = mlir::IntegerType::get(node.context(), 64);
  if (s.rotary) {
    Angles angles;
    KILN_ASSIGN(angles.cosine, node.input(7));
    KILN_ASSIGN(angles.sine, node.input(8));
    angles.interleaved = s.interleaved;
    const Term positions = node.hasInput(9) ? Term(node, node.inputs()[9]).index()
                                            : cache.before + countAlong(node, i64, q[2], 1, 2);
    if (node.hasInput(9) && dimsOf(node.inputs()[9]) != Shape{q[0], q[2]})
      return invalid("position_ids are not [batch, length]");
    KILN_ASSIGN(heads.query, turned(node, heads.query, angles, positions));
    KILN_ASSIGN(heads.key, turned(node, heads.key, angles, positions));
  }
  KILN_ASSIGN(Term key, cached(node, cache, 3, heads.key));
  KILN_ASSIGN(Term value, cached(node, cache, 4, heads.value));
  const mlir::Type wide = calculationType(elementOf(*heads.query.value()));
  Bias bias(node, wide, q[2], cache.length);
  // The query itself counts into the window.
  const Term before =
      cache.past ? cache.before.reshape({q[0], Dim(1), Dim(1), Dim(1)}) : Term(node, node.scalar(i64, 0));
  bias.window(before, s.window < 0 ? -1 : s.window - 1, 0);
  if (node.hasInput(10)) KILN_TRY(bias.mask(node.inputs()[10]));
  KILN_ASSIGN(Attended made, attended(node, heads.query, key, value, bias.sum(), s.scoring));
  Values results(3);
  KILN_ASSIGN(results[0], joinedHeads(made.result).value());
  KILN_ASSIGN(results[1], key.value());
  KILN_ASSIGN(results[2], value.value());
  return results;
}

constexpr Operator kRows[] = {
    {kMicrosoft, "GroupQueryAttention", 1, 1, groupQueryAttention},
    {kMicrosoft, "RotaryEmbedding", 1, 1, rotaryEmbedding},
};

}  // namespace

std::span<const Operator> contribGroupQueryOperators() {
  return kRows;
}

}  // namespace kiln::onnx
