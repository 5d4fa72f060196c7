#include "coordinator/drivers/leased_device.h"

#include <algorithm>

#include "storage/index/fleet/worker_repository.h"

namespace kiln::service {

Result<std::optional<v1::Device>> leasedGpu(postgres::Connection& connection, const index::RunRecord& run) {
  KILN_ASSIGN(auto workers, index::listWorkers(connection));
  const auto worker = std::ranges::find_if(workers, [&](const index::WorkerRecord& one) {
    return one.name == run.worker && one.operatorName == run.operatorName;
  });
  v1::WorkerDescription description;
  if (worker == workers.end() || !description.ParseFromString(worker->description))
    return fail(Code::kInternal, "worker " + run.worker + " is not known");
  for (const v1::Device& device : description.devices())
    if (device.kind() == "gpu" && std::ranges::find(run.devices, device.id()) != run.devices.end())
      return std::optional(device);
  return std::optional<v1::Device>();
}

}  // namespace kiln::service
