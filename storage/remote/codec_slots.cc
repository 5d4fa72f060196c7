#include "storage/remote/codec_slots.h"

#include <fmt/core.h>

namespace kiln::storage {

Result<CodecSlots::Slot> CodecSlots::take(const std::string& instance) {
  const MutexLock lock(mutex_);
  const bool free = freed_.waitFor(mutex_, limits_.patience, [&]() KILN_REQUIRES(mutex_) {
    const auto of = ofInstance_.find(instance);
    return taken_ < limits_.streams && (of == ofInstance_.end() || of->second < limits_.ofInstance);
  });
  if (!free)
    return fail(Code::kResourceExhausted,
                fmt::format("{} compressed streams go on already, or {} of this instance; try again, or send "
                            "blobs as they are",
                            limits_.streams, limits_.ofInstance));
  ++taken_;
  ++ofInstance_[instance];
  return Slot(*this, instance);
}

void CodecSlots::giveBack(const std::string& instance) {
  {
    const MutexLock lock(mutex_);
    --taken_;
    if (const auto of = ofInstance_.find(instance); --of->second == 0) ofInstance_.erase(of);
  }
  freed_.notifyAll();
}

}  // namespace kiln::storage
