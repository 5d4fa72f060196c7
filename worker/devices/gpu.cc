#include "worker/devices/gpu.h"

#include <dlfcn.h>

#include <algorithm>

#include "compiler_core/runtime/device/open_device.h"
#include "compiler_core/runtime/program/cpu_features.h"
#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"
#include "worker/devices/trial.h"

namespace kiln::devices {
namespace {

using runtime::DeviceApi;

constexpr std::size_t kMaxGpus = 63;
constexpr std::size_t kMaxText = 128;

// Where the loader found the library, which is in the process by now.
std::string pathOf(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  const char* const symbol = "vkGetInstanceProcAddr";
  void* place = handle == nullptr ? nullptr : dlsym(handle, symbol);
  if (handle != nullptr && place == nullptr) place = dlsym(handle, "cuInit");
  Dl_info info{};
  const bool known = place != nullptr && dladdr(place, &info) != 0 && info.dli_fname != nullptr;
  const std::string path = known && info.dli_fname[0] == '/' ? info.dli_fname : library;
  if (handle != nullptr) dlclose(handle);
  return path;
}

bool runsOn(const runtime::DeviceInfo& info, const std::string& target) {
  if (info.api == DeviceApi::kVulkan) return runsOnVulkan(target, info.major, info.minor);
  return runsOnGpu(target, info.major, info.minor);
}

void addRuns(const runtime::DeviceInfo& info, v1::Device& about) {
  for (const std::string& name : servedTargets())
    if (const auto target = parseTarget(name);
        target && runsOn(info, name) && runtime::checkHostFeatures(target->features, name))
      about.add_runs(name);
}

}  // namespace

Result<std::vector<Gpu>> listGpus(const std::string& library) {
  KILN_ASSIGN(const auto devices, runtime::listDevicesOf(library));
  const std::string path = pathOf(library);
  std::vector<Gpu> gpus;
  for (const runtime::DeviceInfo& info : devices) {
    if (gpus.size() == kMaxGpus) break;
    Gpu gpu;
    gpu.library = path;
    gpu.ordinal = info.ordinal;
    gpu.uuid = info.uuid;
    gpu.about.set_kind("gpu");
    gpu.about.set_name(printable(info.name, kMaxText));
    gpu.about.set_arch(info.arch());
    gpu.about.set_memory_bytes(info.memoryBytes);
    gpu.about.set_api(info.apiName());
    const bool isVulkan = info.api == DeviceApi::kVulkan;
    gpu.about.set_driver(isVulkan ? printable(info.driver, kMaxText) : info.apiVersion);
    if (isVulkan) gpu.about.set_api_version(info.apiVersion);
    gpu.about.set_type(info.type);
    gpu.about.set_conformance(info.conformance);
    gpu.about.set_emulated(info.emulated);
    gpu.about.set_healthy(true);
    addRuns(info, gpu.about);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Result<int> testGpu(const std::string& library, const std::string& uuid) {
  KILN_ASSIGN(const auto devices, runtime::listDevicesOf(library));
  const auto found = std::ranges::find(devices, uuid, &runtime::DeviceInfo::uuid);
  if (found == devices.end()) return fail(Code::kUnavailable, "the driver does not list it any more");
  KILN_TRY(found->api == DeviceApi::kVulkan ? tryVulkanDevice(library, found->ordinal)
                                            : tryCudaDevice(library, found->ordinal));
  return found->ordinal;
}

Json toJson(const std::vector<Gpu>& gpus) {
  Json list = Json::array();
  for (const Gpu& gpu : gpus) {
    Json one{{"library", gpu.library},
             {"ordinal", gpu.ordinal},
             {"uuid", gpu.uuid},
             {"name", gpu.about.name()},
             {"arch", gpu.about.arch()},
             {"memoryBytes", std::to_string(gpu.about.memory_bytes())},
             {"driver", gpu.about.driver()},
             {"api", gpu.about.api()},
             {"apiVersion", gpu.about.api_version()},
             {"type", gpu.about.type()},
             {"conformance", gpu.about.conformance()},
             {"emulated", gpu.about.emulated()},
             {"runs", Json::array()}};
    for (const std::string& target : gpu.about.runs()) one["runs"].push_back(target);
    list.push_back(std::move(one));
  }
  return {{"gpus", std::move(list)}};
}

Result<std::vector<Gpu>> gpusFromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "driver"));
  KILN_ASSIGN(const Json* list, reader.array("gpus"));
  if (list->size() > kMaxGpus) return badMember(reader.path("gpus"), "more than 63 GPUs");
  std::vector<Gpu> gpus;
  for (const Json& entry : *list) {
    KILN_ASSIGN(ObjectReader one, ObjectReader::open(entry, reader.path("gpus")));
    Gpu gpu;
    std::int64_t ordinal = 0;
    KILN_ASSIGN(gpu.library, one.string("library"));
    KILN_ASSIGN(ordinal, one.integer("ordinal", 0, 1 << 20));
    gpu.ordinal = static_cast<int>(ordinal);
    KILN_ASSIGN(gpu.uuid, one.string("uuid"));
    KILN_ASSIGN(const std::string name, one.string("name"));
    KILN_ASSIGN(const std::string arch, one.string("arch"));
    KILN_ASSIGN(const std::uint64_t memory, one.unsigned64("memoryBytes"));
    KILN_ASSIGN(const std::string driver, one.string("driver"));
    KILN_ASSIGN(const std::string api, one.string("api"));
    KILN_ASSIGN(const std::string apiVersion, one.string("apiVersion"));
    KILN_ASSIGN(const std::string type, one.string("type"));
    KILN_ASSIGN(const std::string conformance, one.string("conformance"));
    KILN_ASSIGN(const bool emulated, one.boolean("emulated"));
    KILN_ASSIGN(const auto runs, one.strings("runs"));
    KILN_TRY(one.finish());
    gpu.about.set_kind("gpu");
    gpu.about.set_name(printable(name, kMaxText));
    gpu.about.set_arch(printable(arch, 32));
    gpu.about.set_memory_bytes(memory);
    gpu.about.set_driver(printable(driver, kMaxText));
    gpu.about.set_api(printable(api, 32));
    gpu.about.set_api_version(printable(apiVersion, 32));
    gpu.about.set_type(printable(type, 32));
    gpu.about.set_conformance(printable(conformance, 32));
    gpu.about.set_emulated(emulated);
    gpu.about.set_healthy(true);
    const auto served = servedTargets();
    for (const std::string& target : runs)
      if (std::ranges::find(served, target) != served.end()) gpu.about.add_runs(target);
    if (gpu.uuid.empty() || std::ranges::find(gpus, gpu.uuid, &Gpu::uuid) != gpus.end())
      return badMember(one.path("uuid"), "is empty or another GPU's");
    gpus.push_back(std::move(gpu));
  }
  KILN_TRY(reader.finish());
  return gpus;
}

}  // namespace kiln::devices
