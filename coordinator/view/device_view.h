// Reads and checks what a worker says of its devices.
#pragma once

#include <vector>

#include "coordinator/queue/device_choice.h"
#include "coordinator/scheduler/requirements.h"
#include "kiln/v1/worker.pb.h"
#include "manifest/base/result.h"

namespace kiln::service {

// The healthy devices that may be given to checks. A worker of an earlier release, which describes none, has
// its processor ("cpu"). kInvalidArgument naming the device: more than 64 of them, ids that repeat or are
// anything but 1 to 32 of a-z and 0-9, texts that are too long or not printable, too many targets or caches.
Result<std::vector<queue::ClaimedDevice>> claimedDevices(const v1::WorkerDescription& description);

// Targets whose programs the emulated ones of these execute.
std::vector<std::string> emulated(const std::vector<queue::ClaimedDevice>& devices);

// The devices that these workers advertise as not healthy.
std::vector<scheduler::DrainedDevice> drainedDevices(const std::vector<index::WorkerRecord>& workers);

}  // namespace kiln::service
