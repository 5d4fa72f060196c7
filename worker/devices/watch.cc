#include "worker/devices/watch.h"

namespace kiln::devices {
namespace {
constexpr Duration kLook = std::chrono::seconds(1);  // a device may be drained at any time
}

Watch::Watch(Registry& registry, const SteadyClock& clock)
    : registry_(registry), clock_(clock), thread_([this] { run(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    if (const auto next = registry_.nextRetry(); next && *next <= clock_.now()) registry_.retry();
    lock.lock();
    changed_.wait_for(lock, kLook, [this] { return ending_; });
  }
}

}  // namespace kiln::devices
