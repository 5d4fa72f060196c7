// Facts about the farm's database as a whole.
#pragma once

#include <cstdint>

#include "storage/postgres/connection.h"

namespace kiln::index {

// Call at each start, after the migrations. Returns the generation of lease epochs: 1 in a new database, one
// more whenever the database is another one than last time (restored from a dump or to a point in time), so
// that an epoch that was given out after the backup was taken can never be given out again.
Result<std::uint64_t> openGeneration(postgres::Connection& connection);

// The generation that openGeneration left.
Result<std::uint64_t> currentGeneration(postgres::Connection& connection);

}  // namespace kiln::index
