// How long runs are expected to take, from those that an instance had before.
#pragma once

#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::service {

// Of a run that nothing is known of, and of none like it.
inline constexpr double kUnknownSeconds = 60;

// Gives runs of one instance what is expected of each.
Status setExpected(postgres::Connection& connection, std::vector<index::RunRecord>& runs);

}  // namespace kiln::service
