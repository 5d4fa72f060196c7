// Rows of the table runs; internal to the repositories and the queue.
#pragma once

#include "storage/index/rows/records.h"
#include "storage/postgres/rows.h"

namespace kiln::index {

// Needs every column of runs.
RunRecord runAt(const postgres::Row& row);

}  // namespace kiln::index
