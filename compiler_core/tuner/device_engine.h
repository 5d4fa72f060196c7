// Programs of kernels on a CUDA device: what kiln-measure is made of. Links the runtime's device part, which
// loads a driver; kiln-cc, which is static, cannot.
#pragma once

#include "compiler_core/runtime/device/device_context.h"
#include "compiler_core/tuner/serve.h"

namespace kiln::tuner {

// Puts the inputs of setup there. Errors of the driver, of KernelInputs::make and DeviceBuffer::allocate.
//
// A run is timed as the runtime repeats one: launches recorded as a graph, as many runs in it as make a
// sample of about a millisecond, between two events of the device. Runs take turns among copies of the
// inputs, as on processors; a device's large cache holds them all the same.
Result<std::unique_ptr<Engine>> openDevice(std::shared_ptr<const runtime::DeviceContext> context,
                                           const MeasureSetup& setup);

}  // namespace kiln::tuner
