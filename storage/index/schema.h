// The schema of the index: the numbered files in schema/, built into the program.
#pragma once

#include <vector>

#include "storage/postgres/migrate.h"

namespace kiln::index {

std::vector<postgres::Migration> migrations();

}  // namespace kiln::index
