// Reads and checks what a worker says of its devices.
#pragma once

#include <vector>

#include "coordinator/queue/device_choice.h"
#include "coordinator/scheduler/requirements.h"
#include "kiln/v1/worker.pb.h"
#include "manifest/base/result.h"

namespace kiln::service {

// The healthy devices that may be given to checks, in the order that they are chosen in: as described, those
// of type "software" last, since what a hardware one says counts for more. A worker of an earlier release,
// which describes none, has its processor ("cpu"). kInvalidArgument naming the device: more than 64 of them,
// ids that repeat or are anything but 1 to 32 of a-z and 0-9, texts that are too long or not printable, too
// many targets or caches, targets that are for another kind of device (vulkan:1.3 of a CUDA device).
Result<std::vector<queue::ClaimedDevice>> claimedDevices(const v1::WorkerDescription& description);

// Targets whose programs the emulated ones of these execute.
std::vector<std::string> emulated(const std::vector<queue::ClaimedDevice>& devices);

// The devices that these workers advertise as not healthy.
std::vector<scheduler::DrainedDevice> drainedDevices(const std::vector<index::WorkerRecord>& workers);

}  // namespace kiln::service
