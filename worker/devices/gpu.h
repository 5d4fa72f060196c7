// GPUs as a driver library shows them: CUDA's, or a Vulkan loader with the drivers that it finds. All of this
// runs in a child process (driver_probe.h): a driver may hang or crash.
#pragma once

#include <string>
#include <vector>

#include "kiln/v1/worker.pb.h"
#include "manifest/base/result.h"
#include "manifest/json/json.h"

namespace kiln::devices {

struct Gpu {
  std::string library;  // of the driver: an absolute path, or the name that was asked for
  int ordinal = 0;      // as the driver counts now
  std::string uuid;     // tells devices of this machine apart; never leaves the worker
  v1::Device about;     // without an id; healthy
};

// Every GPU of `library` (a path, or a name that the loader finds) that can run kernels; a processor behind a
// Vulkan driver is one, of type "software". Errors of the driver, in its words.
Result<std::vector<Gpu>> listGpus(const std::string& library);

// Whether the device with this uuid works: the driver knows it, a context can be made, memory allocated, and
// what is copied there comes back; of Vulkan also whether a kernel calculates what the processor does. Its
// ordinal; kUnavailable naming what does not work.
Result<int> testGpu(const std::string& library, const std::string& uuid);

// Between the child and the worker: {"gpus":[...]}. fromJson is for what a child wrote after a driver was in
// its process: kInvalidArgument for anything malformed, too much or too long.
Json toJson(const std::vector<Gpu>& gpus);
Result<std::vector<Gpu>> gpusFromJson(const Json& json);

}  // namespace kiln::devices
