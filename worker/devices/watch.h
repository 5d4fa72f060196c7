// A thread that tries drained devices again.
#pragma once

#include <thread>

#include "manifest/base/mutex.h"
#include "manifest/base/steady_clock.h"
#include "worker/devices/registry.h"

namespace kiln::devices {

class Watch {
 public:
  // `registry` and `clock`, which must be the registry's own, must outlive it.
  Watch(Registry& registry, const SteadyClock& clock);
  // Waits for a driver that is just being asked.
  ~Watch();

 private:
  void run();

  Registry& registry_;
  const SteadyClock& clock_;
  Mutex mutex_;
  Condition changed_;
  bool ending_ KILN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kiln::devices
