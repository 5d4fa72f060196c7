// All operations that are imported, of every dialect.
#pragma once

#include "compiler_core/frontend/dialects/operations/row.h"

namespace kiln::dialects {

// Null when there is none.
const Row* findRow(std::string_view name);
// Every row, for support tables.
std::vector<Row> allRows();

// Why the operation is not served; "" where it may be. Terminators and calls need no row.
std::string whyMissing(mlir::Operation& operation);

// Whether it ends a region or a function.
bool isTerminator(mlir::Operation& operation);

}  // namespace kiln::dialects
