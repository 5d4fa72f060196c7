#include "compiler_core/frontend/stablehlo/operations/operations.h"

#include <algorithm>

namespace kiln::stablehlo {
namespace {

constexpr std::span<const Row> (*kFamilies[])() = {
    elementwiseRows, sliceRows,         selectionRows,   bitRows,     specialRows,
    shapeRows,       dynamicRows,       indexingRows,    scatterRows, reductionRows,
    windowRows,      contractionRows,   convolutionRows, solverRows,  sortRows,
    controlRows,     normalizationRows, randomRows,      customRows};

struct Missing {
  std::string_view name, why;
};
constexpr std::string_view kCollective = "a program of several devices is not served";
constexpr std::string_view kTransfer = "what a program sends and receives while it runs is not served";
constexpr std::string_view kToken = "tokens are not served";
constexpr std::string_view kTuple = "tuples are not served";
constexpr std::string_view kQuantized = "quantized types are not served";
constexpr Missing kMissing[] = {
    {"after_all", kToken},
    {"all_gather", kCollective},
    {"all_reduce", kCollective},
    {"all_to_all", kCollective},
    {"collective_broadcast", kCollective},
    {"collective_permute", kCollective},
    {"collective_reduce", kCollective},
    {"create_token", kToken},
    {"cross-replica-sum", kCollective},
    {"fft", "Fourier transforms are not served"},
    {"get_tuple_element", kTuple},
    {"infeed", kTransfer},
    {"outfeed", kTransfer},
    {"partition_id", kCollective},
    {"recv", kTransfer},
    {"reduce_scatter", kCollective},
    {"replica_id", kCollective},
    {"rng", "random numbers without a state are not served; rng_bit_generator's are"},
    {"send", kTransfer},
    {"tuple", kTuple},
    {"uniform_dequantize", kQuantized},
    {"uniform_quantize", kQuantized},
};

}  // namespace

const Row* findRow(std::string_view name) {
  for (const auto& family : kFamilies)
    for (const Row& row : family())
      if (row.name == name) return &row;
  return nullptr;
}

std::vector<Row> allRows() {
  std::vector<Row> rows;
  for (const auto& family : kFamilies) std::ranges::copy(family(), std::back_inserter(rows));
  return rows;
}

std::string_view whyMissing(std::string_view name) {
  const auto* found = std::ranges::find(kMissing, name, &Missing::name);
  return found == std::end(kMissing) ? std::string_view() : found->why;
}

}  // namespace kiln::stablehlo
