#include "compiler_core/runtime/device/compute_device.h"

namespace kiln::runtime {

std::optional<Error> ComputeDevice::lost() const {
  const MutexLock lock(mutex_);
  return lost_;
}

void ComputeDevice::lose(const Error& why) const {
  const MutexLock lock(mutex_);
  if (lost_) return;
  lost_ = Error{why.code,
                "an earlier run failed on " + text() + " (" + why.message +
                    "); this process can use it no more: end it and load the artifact again",
                {}};
}

}  // namespace kiln::runtime
