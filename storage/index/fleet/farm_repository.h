// Facts about the farm's database as a whole.
#pragma once

#include <cstdint>

#include "manifest/base/clock.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// Call at each start, after the migrations. Returns the generation of lease epochs: 1 in a new database, one
// more whenever the database is another one than last time (restored from a dump or to a point in time), so
// that an epoch that was given out after the backup was taken can never be given out again.
Result<std::uint64_t> openGeneration(postgres::Connection& connection);

// The generation that openGeneration left.
Result<std::uint64_t> currentGeneration(postgres::Connection& connection);

// How a coordinator's sessions call themselves to the database, with a word of its own behind it.
inline constexpr char kCoordinatorSession[] = "kiln-coordinator ";

// Whether another coordinator than that of this session has had a session for this long, by the database's
// clock: then workers had somebody to report to meanwhile.
Result<bool> anotherListens(postgres::Connection& connection, Duration forThisLong);

}  // namespace kiln::index
