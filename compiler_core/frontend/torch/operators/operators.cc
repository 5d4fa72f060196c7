#include "compiler_core/frontend/torch/operators/operators.h"

#include <algorithm>

namespace kiln::torch {
namespace {

constexpr std::span<const Row> (*kFamilies[])() = {
    elementwiseRows, comparisonRows, activationRows, creationRows,    viewRows,    partRows,
    indexingRows,    reductionRows,  productRows,    convolutionRows, poolingRows, normalizationRows,
    attentionRows,   resizeRows,     paddingRows,    controlRows};

const Row* findRow(std::string_view name) {
  for (const auto& family : kFamilies)
    for (const Row& row : family())
      if (row.name == name) return &row;
  return nullptr;
}

constexpr std::string_view kAten = "aten.", kHigherOrder = "higher_order.";
constexpr std::string_view kOfIntegers[] = {"aten.sym_size.",
                                            "aten.sym_numel.",
                                            "aten.sym_stride.",
                                            "aten.sym_storage_offset.",
                                            "aten._assert_async.",
                                            "aten._assert_scalar.",
                                            "aten._assert_tensor_metadata.",
                                            "aten.sym_constrain_range",
                                            "_operator.",
                                            "torch.sym_"};

constexpr std::string_view kRandom =
    "random numbers have no agreed values; make them an input of the program";
constexpr std::string_view kOfOthers =
    "the operator is not served; after run_decompositions() the program may do with others";
struct Missing {
  std::string_view name, why;
};
constexpr Missing kMissing[] = {
    {"aten.rand.", kRandom},
    {"aten.randn.", kRandom},
    {"aten.rand_like.", kRandom},
    {"aten.randn_like.", kRandom},
    {"aten.randint.", kRandom},
    {"aten.randperm.", kRandom},
    {"aten.bernoulli", kRandom},
    {"aten.multinomial.", kRandom},
    {"aten.nonzero.", "the size of its result depends on values"},
    {"aten.item.", "a number that depends on values is not served; keep it a tensor"},
    {"aten._local_scalar_dense.", "a number that depends on values is not served; keep it a tensor"},
    {"higher_order.", "this operator that takes graphs is not served"},
};

}  // namespace

std::optional<Operator> findOperator(std::string_view target) {
  if (target.starts_with(kHigherOrder)) {
    const Row* row = findRow(target);
    return row ? std::optional(Operator{row, false}) : std::nullopt;
  }
  if (!target.starts_with(kAten)) return std::nullopt;
  std::string_view name = target.substr(kAten.size());
  name = name.substr(0, name.find('.'));
  if (const Row* row = findRow(name)) return Operator{row, false};
  if (!name.ends_with('_') || name.ends_with("__")) return std::nullopt;
  const Row* row = findRow(name.substr(0, name.size() - 1));
  return row && row->alias == Alias::kNone ? std::optional(Operator{row, true}) : std::nullopt;
}

bool isOfIntegers(std::string_view target) {
  return std::ranges::any_of(kOfIntegers, [&](std::string_view begin) { return target.starts_with(begin); });
}

std::string_view whyMissing(std::string_view target) {
  const auto* found =
      std::ranges::find_if(kMissing, [&](const Missing& one) { return target.starts_with(one.name); });
  return found == std::end(kMissing) ? kOfOthers : found->why;
}

std::vector<Row> allRows() {
  std::vector<Row> rows;
  for (const auto& family : kFamilies) std::ranges::copy(family(), std::back_inserter(rows));
  return rows;
}

}  // namespace kiln::torch
