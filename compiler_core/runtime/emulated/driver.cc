#include "compiler_core/runtime/emulated/driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace kiln::emulated {

using namespace cuda;  // NOLINT(google-build-using-namespace): names that NVIDIA chose

namespace {

// A kernel could read the processor's memory through it, which no GPU can. "" when there is none; what is
// null points to nothing.
std::string foreignPointer(const DeviceMemory& memory, const LaunchOp& launch) {
  for (std::size_t i = 0; i < launch.arguments.size(); ++i)
    if (launch.kernel->parameters[i] == KILN_EMULATED_POINTER && launch.arguments[i] != 0 &&
        !memory.contains(launch.arguments[i], 0))
      return "argument " + std::to_string(i) + " is no address on the device";
  return "";
}

}  // namespace

Driver& driver() {
  static Driver* const one = new Driver();  // outlives every user
  return *one;
}

std::vector<Device*>& Driver::stack() const {
  thread_local std::vector<Device*> contexts;
  return contexts;
}

CUresult Driver::initialise() {
  const bool used =
      std::any_of(devices_.begin(), devices_.end(), [](const auto& d) { return d->contexts != 0; });
  if (!used) {
    settings_ = Settings::fromEnvironment();
    if (!settings_.complaint.empty())
      std::fprintf(stderr, "kiln-emulated-cuda: cannot use %s\n", settings_.complaint.c_str());
    devices_.clear();
    for (int i = 0; i < settings_.devices; ++i) devices_.push_back(std::make_unique<Device>(i, settings_));
    statistics = {};
  }
  if (devices_.empty()) return kNoDevice;
  initialised_ = true;
  return kSuccess;
}

Device* Driver::device(int ordinal) {
  return ordinal >= 0 && ordinal < static_cast<int>(devices_.size())
             ? devices_[static_cast<std::size_t>(ordinal)].get()
             : nullptr;
}

CUresult Driver::failWith(CUresult error, const std::string& why) {
  details_.emplace_back(error, why);
  return error;
}

const char* Driver::text(CUresult error) const {
  for (auto one = details_.rbegin(); one != details_.rend(); ++one)
    if (one->first == error) return one->second.c_str();
  return nullptr;
}

CUresult Driver::enqueue(Stream& stream, Op op) {
  if (stream.device->failure != kSuccess) return stream.device->failure;
  (stream.capture ? *stream.capture : stream.pending).push_back(std::move(op));
  return kSuccess;
}

CUresult Driver::drain(Stream& stream) {
  Device& device = *stream.device;
  if (device.failure != kSuccess) return device.failure;
  if (stream.capture) return kStreamCaptureUnsupported;
  if (stream.pending.empty()) return kSuccess;
  std::vector<Op> pending;
  pending.swap(stream.pending);
  device.memory.open();
  for (const Op& op : pending) {
    device.failure = execute(device, op);
    if (device.failure != kSuccess) break;
  }
  device.memory.close();
  return device.failure;
}

CUresult Driver::execute(Device& device, const Op& op) {
  if (const auto* launch = std::get_if<LaunchOp>(&op)) return execute(device, *launch);
  if (const auto* copy = std::get_if<CopyOp>(&op)) {
    std::memcpy(copy->to, copy->snapshot ? copy->snapshot->data() : copy->from, copy->bytes);
    statistics.copied_bytes += copy->bytes;
  } else if (const auto* fill = std::get_if<FillOp>(&op)) {
    std::memset(fill->to, fill->value, fill->bytes);
  } else if (const auto* event = std::get_if<EventOp>(&op)) {
    *event->event = {std::chrono::steady_clock::now(), true};
  } else if (const auto* graph = std::get_if<GraphOp>(&op)) {
    ++statistics.graph_launches;
    for (const Op& one : *graph->ops)
      if (const CUresult result = execute(device, one); result != kSuccess) return result;
  }
  return kSuccess;
}

CUresult Driver::execute(Device& device, const LaunchOp& launch) {
  if (settings_.lost != 0 && statistics.launches >= settings_.lost)
    return failWith(kUnknown, "unknown error: the device is gone (KILN_EMULATED_LOST)");
  ++statistics.launches;
  while (settings_.hang != 0 && statistics.launches == settings_.hang) ::pause();
  const std::string foreign = foreignPointer(device.memory, launch),
                    wrong = foreign.empty() ? device.grid.run(launch) : foreign;
  if (wrong.empty()) return kSuccess;
  const bool address = !foreign.empty() || wrong.find("outside of memory") != std::string::npos;
  return failWith(
      address ? kIllegalAddress : kLaunchFailed,
      std::string(address ? "an illegal memory access was encountered" : "unspecified launch failure") +
          ": kernel " + launch.kernel->name + ", " + wrong);
}

}  // namespace kiln::emulated
