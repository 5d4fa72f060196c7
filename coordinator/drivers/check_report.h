// Checks a worker's report of a check against the device that its lease named.
#pragma once

#include <string_view>

#include "kiln/v1/worker.pb.h"
#include "manifest/json/json.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/pool.h"

namespace kiln::service {

// kDataLoss unless a report that checkReport() takes is of this device: names a GPU if and only if the
// artifact `hasKernels`, and then `gpu`, the one that was leased, by its name, version, of Vulkan type and
// driver too, and whether it is emulated. `gpu` is null if the lease named none.
Status checkDevice(const Json& report, const v1::Device* gpu, bool hasKernels);

// The report of the run of a check: well-formed, of the leased device, and emulated where that was asked for.
Status takeCheckReport(postgres::Pool& database, const index::RunRecord& run, std::string_view text);

}  // namespace kiln::service
