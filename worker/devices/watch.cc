#include "worker/devices/watch.h"

namespace kiln::devices {
namespace {
constexpr Duration kLook = std::chrono::seconds(1);  // a device may be drained at any time
}

Watch::Watch(Registry& registry, const SteadyClock& clock)
    : registry_(registry), clock_(clock), thread_([this] { run(); }) {}

Watch::~Watch() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notifyAll();
  thread_.join();
}

void Watch::run() {
  MutexLock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    if (const auto next = registry_.nextRetry(); next && *next <= clock_.now()) registry_.retry();
    lock.lock();
    changed_.waitFor(mutex_, kLook, [this]() KILN_REQUIRES(mutex_) { return ending_; });
  }
}

}  // namespace kiln::devices
