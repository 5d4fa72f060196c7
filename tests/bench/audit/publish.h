// What keeping the index costs a publication.
#pragma once

#include "storage/postgres/connection.h"

namespace kiln::bench {

// Publishes `rounds` artifacts with ten materials each, a transaction each, and the same number without what
// auditors ask by; prints both and removes them.
Status measurePublications(postgres::Connection& connection, int rounds);

}  // namespace kiln::bench
