#include "compiler_core/schedule/strategies/gpu_product/contraction_tiles.h"

#include <algorithm>
#include <limits>
#include <span>

namespace kiln::schedule {
namespace {

// Candidates, the largest first: each of them is taken if it leaves enough blocks for the whole device, the
// last in any case. `rows` counts channels of a convolution, `columns` its positions.
struct Size {
  std::int64_t rows, columns, threads;
  std::string_view name, reason;
};
constexpr std::int64_t kBlocks = 128;  // about as many as large devices have multiprocessors
// A thread has registers for 64 sums of f32; panels of 128 rows and as many columns fit 48 KiB beside each
// other.
constexpr Size kSizes[] = {
    {128, 128, 256, "device contraction 128",
     "128 x 128 results reuse each factor 128 times; 64 sums per thread fill the registers"},
    {64, 64, 128, "device contraction 64",
     "64 x 64 results reuse each factor 64 times, where larger blocks would leave processors idle"},
    {32, 32, 64, "device contraction 32",
     "small products: as many blocks as there can be that still share panels"},
};
// Too few rows or columns to share anything: one result per thread.
constexpr Size kFewRows = {1, 256, 256, "device product of few rows",
                           "each thread sums up one result; neighbours read neighbouring columns"};
constexpr Size kFewColumns = {256, 4, 256, "device product of few columns", "each thread sums up one result"};

// At most `most`, as a divisor of the extent if a large one is there, else with a last tile that is partial.
std::int64_t cut(const LoopInfo& loop, std::int64_t most) {
  most = std::max<std::int64_t>(1, most);
  if (!loop.divisible || loop.extent <= most) return loop.extent;
  if (loop.symbolic) return most;
  for (const std::int64_t unit : {16, 4, 1})
    for (std::int64_t size = most / unit * unit; size > 0 && size * 4 >= most * 3; size -= unit)
      if (loop.extent % size == 0) return size;
  return most;
}

std::int64_t blocksOf(const std::vector<LoopInfo>& loops, const std::vector<std::int64_t>& sizes) {
  std::int64_t blocks = 1;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const std::int64_t size = std::max<std::int64_t>(1, sizes[i]);
    if (__builtin_mul_overflow(blocks, std::max<std::int64_t>(1, (loops[i].extent + size - 1) / size),
                               &blocks))
      return std::numeric_limits<std::int64_t>::max();
  }
  return blocks;
}

// Tiles the last two loops of a product, or the channels and all positions of a convolution.
std::vector<std::int64_t> sizesFor(const KernelShape& shape, std::size_t positions, const Size& size) {
  const std::size_t rank = shape.loops.size();
  std::vector<std::int64_t> sizes;
  for (const LoopInfo& loop : shape.loops) sizes.push_back(loop.divisible ? 1 : loop.extent);
  std::int64_t columns = size.columns;
  for (std::size_t i = rank; i-- > rank - positions;) {
    sizes[i] = cut(shape.loops[i], columns);
    columns /= std::max<std::int64_t>(1, sizes[i]);
  }
  if (rank > positions) sizes[rank - positions - 1] = cut(shape.loops[rank - positions - 1], size.rows);
  return sizes;
}

// How many of the last loops are columns; the one before them is the rows.
std::size_t columnLoops(const KernelShape& shape) {
  return std::min(shape.loops.size(), shape.kind == KernelKind::kConvolution ? shape.window : 1);
}

std::int64_t extentOf(std::span<const LoopInfo> loops) {
  std::int64_t extent = 1;
  for (const LoopInfo& loop : loops)
    if (__builtin_mul_overflow(extent, loop.extent, &extent)) return std::numeric_limits<std::int64_t>::max();
  return extent;
}

}  // namespace

DeviceTile chooseContractionTile(const KernelShape& shape) {
  const std::size_t rank = shape.loops.size();
  const std::size_t positions = columnLoops(shape);
  const std::span<const LoopInfo> loops(shape.loops);
  const std::int64_t columns = extentOf(loops.last(positions));
  const std::int64_t rows = rank > positions ? loops[rank - positions - 1].extent : 1;
  const Size* chosen = columns < kFewToShare ? &kFewColumns : &kFewRows;
  if (rows >= kFewToShare && columns >= kFewToShare)
    for (const Size& size : kSizes) {
      chosen = &size;
      if (blocksOf(shape.loops, sizesFor(shape, positions, size)) >= kBlocks) break;
    }
  DeviceTile result{{sizesFor(shape, positions, *chosen), chosen->name, chosen->reason}, chosen->threads};
  // Few results: no more threads than there is work for.
  std::int64_t results = 1;
  for (const std::int64_t size : result.tile.sizes)
    if (__builtin_mul_overflow(results, std::max<std::int64_t>(1, size), &results))
      results = std::numeric_limits<std::int64_t>::max() / 2;
  const std::int64_t each = rows < kFewToShare || columns < kFewToShare ? 1 : 8;
  result.threads = std::clamp<std::int64_t>((results / each + 31) / 32 * 32, 32, chosen->threads);
  return result;
}

std::string reordering(const KernelShape& shape, std::span<const std::int64_t> tile) {
  const std::vector<std::int64_t> standard = chooseContractionTile(shape).tile.sizes;
  const std::size_t columns = columnLoops(shape), outside = tile.size() - std::min(tile.size(), columns + 1);
  for (std::size_t i = 0; i < outside; ++i)
    if (tile[i] != standard[i])
      return "has to be " + std::to_string(standard[i]) + " at loop " + std::to_string(i);
  const auto isFew = [](std::span<const std::int64_t> sizes) {
    std::int64_t points = 1;
    for (const std::int64_t size : sizes) points *= std::min(size, kFewToShare);
    return points < kFewToShare;
  };
  const auto compare = [&](std::string_view name, std::size_t from, std::size_t to) -> std::string {
    const std::span<const std::int64_t> own = tile.subspan(from, to - from);
    const bool few = isFew(std::span(standard).subspan(from, to - from));
    if (isFew(own) != few)
      return "needs " + std::string(few ? "fewer than " : "at least ") + std::to_string(kFewToShare) + " " +
             std::string(name);
    for (std::size_t i = from; i < to; ++i)
      if (few && shape.loops[i].extent % tile[i] != 0)
        return "does not divide the " + std::to_string(shape.loops[i].extent) + " at loop " +
               std::to_string(i);
    return "";
  };
  const std::size_t firstColumn = tile.size() - columns;
  std::string why = compare("rows", outside, firstColumn);
  return why.empty() ? compare("columns", firstColumn, tile.size()) : why;
}

}  // namespace kiln::schedule
