// Commits that do not wait for the disk.
#pragma once

#include "storage/postgres/connection.h"

namespace kiln::postgres {

// Of the open transaction: its commit returns before the server has it on its disk. For what may be lost with
// the power, or with a server that crashes, as if it had not been said yet. What commits later without this
// call is durable together with all that was committed before it. Errors as execute().
Status commitSoon(Connection& connection);

}  // namespace kiln::postgres
