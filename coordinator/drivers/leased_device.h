// The device that a run's lease named, as its worker describes it.
#pragma once

#include <optional>

#include "kiln/v1/worker.pb.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::service {

// The GPU among what the lease names; nothing if there is none. kInternal: the worker is not known.
Result<std::optional<v1::Device>> leasedGpu(postgres::Connection& connection, const index::RunRecord& run);

}  // namespace kiln::service
