// The tables of operations of linalg, and of arith, math and tensor, that Kiln imports. One file per family;
// each gives its rows.
#pragma once

#include <span>

#include "compiler_core/frontend/dialects/operations/row.h"

namespace kiln::dialects::linalg {

std::span<const Row> arithRows();
std::span<const Row> conversionRows();
std::span<const Row> mathRows();
std::span<const Row> structuredRows();
std::span<const Row> tensorRows();
std::span<const Row> sliceRows();

// Why an operation of these dialects that has no row is none; "" where nothing special is known of it.
std::string_view whyMissing(std::string_view name);

}  // namespace kiln::dialects::linalg
