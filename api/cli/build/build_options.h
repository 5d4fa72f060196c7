// Values of `kiln build`'s options, checked before anything is sent.
#pragma once

#include <string>
#include <vector>

#include "manifest/spec/delivery_spec.h"

namespace kiln::cli {

// kInvalidArgument for a target, or part of one, that this release does not serve, with the nearest that it
// does; kUnimplemented for parts that do not go together.
Status checkTarget(const std::string& target);

// Whether a part of it runs on a device, as cuda:sm_90a does.
bool isForDevice(const std::string& target);

// --tune and --budget ("" for the default). kInvalidArgument naming the option, also for a search where no
// target has kernels that a farm searches for.
Status readTuning(const std::string& tune, const std::string& budget, const std::vector<std::string>& targets,
                  DeliverySpec& delivery);

// --deadline: "30m" from when the farm takes the job, or a time such as 2026-11-26T18:00:00Z; "" for none.
// kInvalidArgument naming the option. Whether a time has passed the farm says, by its own clock.
Status readDeadline(const std::string& deadline, DeliverySpec& delivery);

// 32 random hex digits.
Result<std::string> newIdempotencyKey();

}  // namespace kiln::cli
