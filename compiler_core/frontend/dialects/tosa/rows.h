// The table of TOSA's operations that Kiln imports, after the specification of TOSA 1.0. One file per family;
// each gives its rows.
#pragma once

#include <span>

#include "compiler_core/frontend/dialects/operations/row.h"

namespace kiln::dialects::tosa {

std::span<const Row> arithmeticRows();
std::span<const Row> unaryRows();
std::span<const Row> integerRows();
std::span<const Row> reductionRows();
std::span<const Row> shapeRows();
std::span<const Row> shapeValueRows();
std::span<const Row> indexingRows();
std::span<const Row> convolutionRows();
std::span<const Row> poolingRows();
std::span<const Row> resizeRows();
std::span<const Row> controlRows();

// Why an operation of TOSA's that has no row is none; "" where nothing special is known of it.
std::string_view whyMissing(std::string_view name);

}  // namespace kiln::dialects::tosa
