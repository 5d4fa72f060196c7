// The table of ATen's operators that Kiln imports. One file per family; each gives its rows.
#pragma once

#include <span>

#include "compiler_core/frontend/torch/operators/context.h"

namespace kiln::torch {

// Makes the node's results, in order; null for a result that no one may read. kInvalidArgument: the program
// is wrong; kUnimplemented: Kiln cannot serve this use. Both without the node's place, which the caller adds.
using ImportFunction = Result<Values> (*)(NodeContext& node);
// The way back through a view: `base` with `part` in the place of the view's result number `index`.
using WriteFunction = Result<Value> (*)(NodeContext& node, Value base, Value part, std::size_t index);

// Whether results lie in the memory of the argument "self", so that writing one changes the other.
enum class Alias {
  kNone,
  kView,
  kMaybe  // it depends on strides, which are not followed
};

// Half precision in a formula of several steps is calculated in f32 and rounded once.
enum class Precision { kAsDeclared, kWidened };

struct Row {
  std::string_view name;  // without namespace and overload: "conv2d"
  ImportFunction import;
  Precision precision = Precision::kAsDeclared;
  Alias alias = Alias::kNone;
  WriteFunction write = nullptr;  // of views that can be written through
};

// What a target such as "aten.add_.Tensor" asks for.
struct Operator {
  const Row* row = nullptr;
  bool isInPlace = false;  // the result takes the place of the argument "self"
};
// nullopt when there is none.
std::optional<Operator> findOperator(std::string_view target);
// Whether a node of this target calculates with integers only, which Graph::integers has, or says again what
// ranges say: nothing is made of it.
bool isOfIntegers(std::string_view target);
// Why a target that is not served is not, and what to do.
std::string_view whyMissing(std::string_view target);
// Every row, for support tables.
std::vector<Row> allRows();

// The families.
std::span<const Row> elementwiseRows();
std::span<const Row> comparisonRows();
std::span<const Row> activationRows();
std::span<const Row> creationRows();
std::span<const Row> viewRows();
std::span<const Row> partRows();
std::span<const Row> indexingRows();
std::span<const Row> reductionRows();
std::span<const Row> productRows();
std::span<const Row> convolutionRows();
std::span<const Row> poolingRows();
std::span<const Row> normalizationRows();
std::span<const Row> attentionRows();
std::span<const Row> resizeRows();
std::span<const Row> paddingRows();
std::span<const Row> controlRows();

}  // namespace kiln::torch
