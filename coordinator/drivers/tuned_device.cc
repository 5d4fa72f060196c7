#include "coordinator/drivers/tuned_device.h"

#include <algorithm>

#include "manifest/base/printable.h"

namespace kiln::service {
namespace {

constexpr std::size_t kMaxName = 128;  // of what workers advertise

Status refuse(const std::string& why) {
  return fail(Code::kDataLoss, "the tuning record " + why);
}

}  // namespace

Status checkTunedDevice(const TuningRecord& record, const v1::Device* gpu) {
  if (gpu == nullptr) return {};
  const std::string leased = ", but the device leased, " + gpu->id() + ", ";
  if (printable(record.device.name, kMaxName) != gpu->name())
    return refuse("is of " + inQuotes(record.device.name) + leased + "is " + inQuotes(gpu->name()));
  for (const std::string& feature :
       {"Vulkan " + gpu->api_version(), "driver " + gpu->driver(), "type " + gpu->type()})
    if (std::ranges::find(record.device.features, feature) == record.device.features.end())
      return refuse("does not name the feature " + inQuotes(feature) + leased + "has it");
  return {};
}

}  // namespace kiln::service
