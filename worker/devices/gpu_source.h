// The source of GPUs, where they are found and tried out.
#pragma once

#include <string>
#include <vector>

#include "worker/devices/gpu.h"

namespace kiln::devices {

// Thread safe.
class GpuSource {
 public:
  virtual ~GpuSource() = default;
  // As listGpus().
  virtual Result<std::vector<Gpu>> list(const std::string& library) = 0;
  // As testGpu().
  virtual Result<int> test(const std::string& library, const std::string& uuid) = 0;
};

}  // namespace kiln::devices
