#include "worker/devices/cpu.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>

#include "compiler_core/runtime/check/check.h"
#include "compiler_core/runtime/program/cpu_features.h"
#include "manifest/base/printable.h"
#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"
#include "worker/devices/host_level.h"

namespace kiln::devices {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxProcessors = 4096;
constexpr int kMaxCaches = 16;  // of one processor

std::string lineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line.substr(0, 64);
}

// The number that `text` begins with; nothing if it begins with none.
std::optional<std::uint64_t> numberOf(std::string_view text) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

// "48K", "2048K", "36M" as the kernel writes a cache's size.
std::uint64_t cacheBytes(const std::string& text) {
  const std::uint64_t number = std::min<std::uint64_t>(numberOf(text).value_or(0), 1u << 30);
  if (text.ends_with('K')) return number << 10;
  return text.ends_with('M') ? number << 20 : number;
}

std::string cacheKind(const std::string& type) {
  if (type == "Data") return "data";
  return type == "Instruction" ? "instruction" : "unified";
}

using CacheKey = std::tuple<std::uint64_t, std::string, std::uint64_t>;  // level, kind, bytes

void addCaches(const std::string& processor, std::set<CacheKey>& caches) {
  for (int i = 0; i < kMaxCaches; ++i) {
    const std::string cache = processor + "/cache/index" + std::to_string(i);
    const auto level = numberOf(lineOf(cache + "/level"));
    const std::uint64_t bytes = cacheBytes(lineOf(cache + "/size"));
    if (!level) return;
    if (bytes != 0 && *level < kMaxCaches) caches.insert({*level, cacheKind(lineOf(cache + "/type")), bytes});
  }
}

std::uint64_t memoryBytes(const std::string& root) {
  constexpr std::string_view kTotal = "MemTotal:";
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kTotal)) continue;
    std::string_view rest = std::string_view(line).substr(kTotal.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return numberOf(rest).value_or(0) << 10;
  }
  return 0;
}

}  // namespace

v1::Device readCpu(const std::string& root) {
  v1::Device device;
  device.set_id(kCpuId);
  device.set_kind("cpu");
  device.set_name(printable(runtime::processorName(), 128));
  device.set_arch(hostLevel());
  device.set_memory_bytes(memoryBytes(root));
  device.set_healthy(true);
  std::set<std::string> sockets;
  std::set<std::pair<std::string, std::string>> cores;
  std::set<CacheKey> caches;
  for (int i = 0; i < kMaxProcessors; ++i) {
    const std::string processor = root + "/sys/devices/system/cpu/cpu" + std::to_string(i);
    std::error_code error;
    if (!fs::exists(processor, error)) break;
    const std::string socket = lineOf(processor + "/topology/physical_package_id");
    if (socket.empty()) continue;  // offline
    device.set_threads(device.threads() + 1);
    sockets.insert(socket);
    cores.insert({socket, lineOf(processor + "/topology/core_id")});
    addCaches(processor, caches);
  }
  device.set_sockets(static_cast<int>(sockets.size()));
  device.set_cores(static_cast<int>(cores.size()));
  for (const auto& [level, kind, bytes] : caches) {
    if (device.caches_size() == kMaxCaches) break;
    v1::Cache* cache = device.add_caches();
    cache->set_level(static_cast<int>(level));
    cache->set_kind(kind);
    cache->set_bytes(bytes);
  }
  for (const std::string& name : servedTargets())
    if (const auto target = parseTarget(name);
        target && !wantsDevice(name) && runtime::checkHostFeatures(target->features, name))
      device.add_runs(name);
  return device;
}

}  // namespace kiln::devices
