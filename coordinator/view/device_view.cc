#include "coordinator/view/device_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "manifest/base/printable.h"
#include "manifest/spec/target_device.h"

namespace kiln::service {
namespace {

constexpr char kSoftware[] = "software";
constexpr int kMaxDevices = 64;
constexpr int kMaxRuns = 64;
constexpr int kMaxCaches = 16;
constexpr std::size_t kMaxId = 32;
constexpr std::size_t kMaxText = 256;
constexpr std::size_t kMaxReason = 1024;

bool isId(const std::string& text) {
  return !text.empty() && text.size() <= kMaxId &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

// Fit for terminals and logs as it is.
bool isText(const std::string& text, std::size_t most) {
  return text.size() <= most && printable(text, most) == text;
}

// Whether a device of this kind could run programs for the target at all: no lease is given for others.
bool isServable(const v1::Device& device, const std::string& target) {
  if (device.kind() == "cpu") return !wantsDevice(target);
  return wantsDevice(target) && isVulkan(target) == (device.api() == "vulkan");
}

Status checkDevice(const v1::Device& device) {
  const auto bad = [](const std::string& why) { return fail(Code::kInvalidArgument, why); };
  if (device.kind() != "cpu" && device.kind() != "gpu") return bad("its kind is neither cpu nor gpu");
  for (const std::string* text : {&device.name(), &device.arch(), &device.driver(), &device.api(),
                                  &device.api_version(), &device.type(), &device.conformance()})
    if (!isText(*text, kMaxText))
      return bad(fmt::format("a text of it is not printable or has more than {} bytes", kMaxText));
  if (!isText(device.reason(), kMaxReason))
    return bad(fmt::format("its reason is not printable or has more than {} bytes", kMaxReason));
  if (device.runs_size() > kMaxRuns) return bad(fmt::format("it runs more than {} targets", kMaxRuns));
  for (const std::string& target : device.runs())
    if (!isText(target, kMaxText)) return bad("a target of it is not printable");
  for (const std::string& target : device.runs())
    if (!isServable(device, target))
      return bad(inQuotes(target) + ", which it says that it runs, is not for a device of its kind");
  if (device.caches_size() > kMaxCaches) return bad(fmt::format("it has more than {} caches", kMaxCaches));
  for (const v1::Cache& cache : device.caches())
    if (!isText(cache.kind(), kMaxId)) return bad("a cache of it is not printable");
  return {};
}

}  // namespace

Result<std::vector<queue::ClaimedDevice>> claimedDevices(const v1::WorkerDescription& description) {
  std::vector<queue::ClaimedDevice> devices, software;
  if (description.devices().empty()) {
    if (!description.runs().empty())
      devices.push_back({"cpu", {description.runs().begin(), description.runs().end()}, false});
    return devices;
  }
  if (description.devices_size() > kMaxDevices)
    return fail(Code::kInvalidArgument,
                fmt::format("the worker describes more than {} devices", kMaxDevices));
  std::set<std::string> ids;
  for (int i = 0; i < description.devices_size(); ++i) {
    const v1::Device& device = description.devices(i);
    const std::string place = fmt::format("devices[{}]", i);
    if (!isId(device.id()) || !ids.insert(device.id()).second)
      return fail(Code::kInvalidArgument,
                  place + ": its id is not one of its own of 1 to 32 characters of a-z and 0-9");
    if (Status good = checkDevice(device); !good) return fail(good.error().in(place));
    if (!device.healthy()) continue;
    queue::ClaimedDevice claimed{
        device.id(), {device.runs().begin(), device.runs().end()}, device.emulated()};
    (device.type() == kSoftware ? software : devices).push_back(std::move(claimed));
  }
  std::ranges::move(software, std::back_inserter(devices));
  return devices;
}

std::vector<std::string> emulated(const std::vector<queue::ClaimedDevice>& devices) {
  std::set<std::string> targets;
  for (const queue::ClaimedDevice& device : devices)
    if (device.emulated) targets.insert(device.runs.begin(), device.runs.end());
  return {targets.begin(), targets.end()};
}

std::vector<scheduler::DrainedDevice> drainedDevices(const std::vector<index::WorkerRecord>& workers) {
  std::vector<scheduler::DrainedDevice> drained;
  for (const index::WorkerRecord& worker : workers) {
    v1::WorkerDescription description;
    if (!description.ParseFromString(worker.description)) continue;
    for (const v1::Device& device : description.devices())
      if (!device.healthy())
        drained.push_back({worker.name,
                           worker.operatorName,
                           device.id(),
                           device.reason(),
                           {device.runs().begin(), device.runs().end()},
                           device.emulated()});
  }
  return drained;
}

}  // namespace kiln::service
