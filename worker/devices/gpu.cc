#include "worker/devices/gpu.h"

#include <dlfcn.h>

#include <algorithm>

#include "compiler_core/runtime/device/device_info.h"
#include "compiler_core/runtime/program/cpu_features.h"
#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"

namespace kiln::devices {
namespace {

namespace cuda = runtime::cuda;

constexpr std::size_t kMaxGpus = 63;
constexpr std::size_t kTestBytes = 1 << 20;

// Where the loader found the driver.
std::string pathOf(const runtime::CudaDriver& driver) {
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<void*>(driver->init), &info) != 0 && info.dli_fname != nullptr;
  return known && info.dli_fname[0] == '/' ? info.dli_fname : driver.library();
}

void addRuns(int major, int minor, v1::Device& about) {
  for (const std::string& name : servedTargets())
    if (const auto target = parseTarget(name);
        target && runsOnGpu(name, major, minor) && runtime::checkHostFeatures(target->features, name))
      about.add_runs(name);
}

// A context of the device in the calling thread.
class Context {
 public:
  Context(const runtime::CudaDriver& driver, cuda::CUdevice device) : driver_(driver), device_(device) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    cuda::CUcontext popped = nullptr;
    if (current_) (void)driver_->ctxPopCurrent(&popped);
    if (context_ != nullptr) (void)driver_->primaryCtxRelease(device_);
  }
  Status enter() {
    KILN_TRY(driver_.check(driver_->primaryCtxRetain(&context_, device_), "a context"));
    KILN_TRY(driver_.check(driver_->ctxPushCurrent(context_), "a context"));
    current_ = true;
    return {};
  }

 private:
  const runtime::CudaDriver& driver_;
  const cuda::CUdevice device_;
  cuda::CUcontext context_ = nullptr;
  bool current_ = false;
};

// There and back again. What it leaves behind goes with the process.
Status roundTrip(const runtime::CudaDriver& driver) {
  std::vector<unsigned char> there(kTestBytes), back(kTestBytes);
  for (std::size_t i = 0; i < there.size(); ++i) there[i] = static_cast<unsigned char>(i * 131 >> 3);
  cuda::CUstream stream = nullptr;
  cuda::CUdeviceptr memory = 0;
  KILN_TRY(driver.check(driver->streamCreate(&stream, cuda::kStreamNonBlocking), "a stream"));
  KILN_TRY(driver.check(driver->memAlloc(&memory, there.size()), "1 MiB of its memory"));
  KILN_TRY(driver.check(driver->memcpyHtoDAsync(memory, there.data(), there.size(), stream), "a copy to it"));
  KILN_TRY(driver.check(driver->memcpyDtoHAsync(back.data(), memory, back.size(), stream), "a copy from it"));
  KILN_TRY(driver.check(driver->streamSynchronize(stream), "waiting for it"));
  if (there != back) return fail(Code::kUnavailable, "what was copied to it came back changed");
  KILN_TRY(driver.check(driver->memFree(memory), "freeing its memory"));
  return driver.check(driver->streamDestroy(stream), "its stream");
}

}  // namespace

Result<std::vector<Gpu>> listGpus(const std::string& library) {
  KILN_ASSIGN(const auto driver, runtime::CudaDriver::open(library));
  KILN_ASSIGN(const auto devices, runtime::listDevices(library));
  std::vector<Gpu> gpus;
  for (const runtime::DeviceInfo& info : devices) {
    if (gpus.size() == kMaxGpus) break;
    Gpu gpu;
    gpu.library = pathOf(*driver);
    gpu.ordinal = info.ordinal;
    gpu.uuid = info.uuid;
    gpu.about.set_kind("gpu");
    gpu.about.set_name(printable(info.name, 128));
    gpu.about.set_arch(info.arch());
    gpu.about.set_memory_bytes(info.memoryBytes);
    gpu.about.set_driver(runtime::cudaVersionText(info.driverVersion));
    gpu.about.set_emulated(info.emulated);
    gpu.about.set_healthy(true);
    addRuns(info.major, info.minor, gpu.about);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Result<int> testGpu(const std::string& library, const std::string& uuid) {
  KILN_ASSIGN(const auto driver, runtime::CudaDriver::open(library));
  KILN_ASSIGN(const auto devices, runtime::listDevices(library));
  const auto found = std::ranges::find(devices, uuid, &runtime::DeviceInfo::uuid);
  if (found == devices.end()) return fail(Code::kUnavailable, "the driver does not list it any more");
  cuda::CUdevice device = 0;
  KILN_TRY(driver->check((*driver)->deviceGet(&device, found->ordinal), "finding it"));
  Context context(*driver, device);
  KILN_TRY(context.enter());
  KILN_TRY(roundTrip(*driver));
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
    KILN_ASSIGN(const bool emulated, one.boolean("emulated"));
    KILN_ASSIGN(const auto runs, one.strings("runs"));
    KILN_TRY(one.finish());
    gpu.about.set_kind("gpu");
    gpu.about.set_name(printable(name, 128));
    gpu.about.set_arch(printable(arch, 32));
    gpu.about.set_memory_bytes(memory);
    gpu.about.set_driver(printable(driver, 32));
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
