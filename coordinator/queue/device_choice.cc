#include "coordinator/queue/device_choice.h"

#include <algorithm>

#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"

namespace kiln::queue {
namespace {

bool serves(const ClaimedDevice& device, const std::string& target, bool emulated) {
  const bool wanted = emulated && wantsDevice(target);
  return device.emulated == wanted && std::ranges::find(device.runs, target) != device.runs.end();
}

}  // namespace

std::vector<std::string> servedBy(const std::vector<ClaimedDevice>& devices, bool emulated) {
  std::vector<std::string> targets;
  for (const ClaimedDevice& device : devices)
    for (const std::string& target : device.runs)
      if (serves(device, target, emulated) && std::ranges::find(targets, target) == targets.end())
        targets.push_back(target);
  return targets;
}

std::vector<std::string> devicesFor(const std::string& target, bool emulated,
                                    const std::vector<ClaimedDevice>& free) {
  std::vector<std::string> chosen;
  for (const std::string& part : targetNames(target)) {
    const auto device =
        std::ranges::find_if(free, [&](const ClaimedDevice& one) { return serves(one, part, emulated); });
    if (device != free.end() && std::ranges::find(chosen, device->id) == chosen.end())
      chosen.push_back(device->id);
  }
  return chosen;
}

}  // namespace kiln::queue
