// Checks a tuning record against the device that its lease named.
#pragma once

#include "coordinator/drivers/leased_device.h"
#include "manifest/tuning/record.h"

namespace kiln::service {

// kDataLoss unless the record is of `gpu`, the one that was leased: by its name, and by the features that
// name its version, driver and type. Null: the lease named none, and nothing is asked.
Status checkTunedDevice(const TuningRecord& record, const v1::Device* gpu);

}  // namespace kiln::service
