// The table of StableHLO's and CHLO's operations that Kiln imports. One file per family; each gives its rows.
#pragma once

#include <span>

#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

// Makes the operation's results, in order. kInvalidArgument: the program is wrong; kUnimplemented: Kiln
// cannot serve this use. Both without the operation's place, which the caller adds.
using ImportFunction = Result<Values> (*)(OperationContext& op);

inline constexpr std::size_t kAnyRegions = ~std::size_t{0};

struct Row {
  std::string_view name;  // "add", "chlo.top_k"
  ImportFunction import;
  std::size_t operands;     // at least so many
  std::size_t regions = 0;  // exactly so many, or kAnyRegions
  // Works element by element, so that it can stand in a region that is run on tensors in place of scalars.
  bool pointwise = false;
  // Takes operands whose extents are symbols, as everything does that is pointwise.
  bool symbolic = false;
};

// Null when there is none.
const Row* findRow(std::string_view name);
// Every row, for support tables.
std::vector<Row> allRows();

// Why an operation that has no row is none; "" where nothing special is known of it.
std::string_view whyMissing(std::string_view name);
// Whether custom_call serves this target.
bool isServedTarget(std::string_view target);

// The families.
std::span<const Row> elementwiseRows();
std::span<const Row> bitRows();
std::span<const Row> specialRows();
std::span<const Row> shapeRows();
std::span<const Row> dynamicRows();
std::span<const Row> indexingRows();
std::span<const Row> sliceRows();
std::span<const Row> scatterRows();
std::span<const Row> reductionRows();
std::span<const Row> windowRows();
std::span<const Row> selectionRows();
std::span<const Row> contractionRows();
std::span<const Row> convolutionRows();
std::span<const Row> solverRows();
std::span<const Row> sortRows();
std::span<const Row> controlRows();
std::span<const Row> normalizationRows();
std::span<const Row> randomRows();
std::span<const Row> customRows();

}  // namespace kiln::stablehlo
