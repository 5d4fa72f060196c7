// Programs of kernels on a device: what kiln-measure is made of. Links the runtime's device part, which loads
// a driver; kiln-cc, which is static, cannot.
#pragma once

#include "compiler_core/runtime/device/compute_device.h"
#include "compiler_core/tuner/serve.h"

namespace kiln::tuner {

// Puts the inputs of setup there. Errors of the driver, of KernelInputs::make and ComputeDevice::allocate.
//
// A run is timed as the runtime repeats one: as many runs as make a sample of about a millisecond, between
// two marks of the device; of CUDA launches recorded as a graph, of Vulkan one submission. Runs take turns
// among copies of the inputs, as on processors; a device's large cache holds them all the same.
Result<std::unique_ptr<Engine>> openDevice(std::shared_ptr<const runtime::ComputeDevice> device,
                                           const MeasureSetup& setup);

}  // namespace kiln::tuner
