// The exported functions, as device/cuda_api.h declares them.
#include <algorithm>
#include <cstring>

#include "compiler_core/runtime/emulated/driver.h"

namespace {

using namespace kiln::runtime::cuda;  // NOLINT(google-build-using-namespace): names that NVIDIA chose
using kiln::MutexLock;
using kiln::emulated::CopyOp;
using kiln::emulated::Device;
using kiln::emulated::driver;
using kiln::emulated::Driver;
using kiln::emulated::Event;
using kiln::emulated::EventOp;
using kiln::emulated::FillOp;
using kiln::emulated::Function;
using kiln::emulated::Graph;
using kiln::emulated::GraphOp;
using kiln::emulated::KernelFile;
using kiln::emulated::LaunchOp;
using kiln::emulated::Module;
using kiln::emulated::Op;
using kiln::emulated::Stream;

struct ErrorText {
  CUresult code;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kStreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

// Calls `work` with the calling thread's device, or says why not.
template <class F>
CUresult onDevice(F&& work) {
  Driver& state = driver();
  const MutexLock lock(state.mutex);
  if (!state.initialised()) return kNotInitialized;
  Device* const device = state.current();
  if (device == nullptr) return kInvalidContext;
  if (device->failure != kSuccess) return device->failure;
  return work(state, *device);
}

// For what gives something back: it is done on a device that failed, too, though the caller hears of that.
template <class F>
CUresult giveBack(F&& work) {
  Driver& state = driver();
  const MutexLock lock(state.mutex);
  if (!state.initialised()) return kNotInitialized;
  Device* const device = state.current();
  if (device == nullptr) return kInvalidContext;
  const CUresult done = work(state, *device);
  return device->failure != kSuccess ? device->failure : done;
}

Stream* streamOf(CUstream stream) {
  return reinterpret_cast<Stream*>(stream);
}

bool isPinned(const Device& device, const void* data, std::uint64_t bytes) {
  auto next = device.pinned.upper_bound(data);
  if (next == device.pinned.begin()) return false;
  const auto& [begin, size] = *--next;
  const auto offset =
      static_cast<std::uint64_t>(static_cast<const char*>(data) - static_cast<const char*>(begin));
  return offset <= size && bytes <= size - offset;
}

}  // namespace

extern "C" {

#define KILN_API __attribute__((visibility("default")))
// Declared from the one list, so that a definition that differs does not compile.
#define KILN_CUDA_DECLARE(member, symbol, parameters) KILN_API CUresult symbol parameters;
KILN_CUDA_FUNCTIONS(KILN_CUDA_DECLARE)
#undef KILN_CUDA_DECLARE

KILN_API extern const int kiln_emulated_device;
const int kiln_emulated_device = 1;

KILN_API void kiln_emulated_read_statistics(kiln_emulated_statistics* statistics) {
  const MutexLock lock(driver().mutex);
  *statistics = driver().statistics;
}

CUresult cuInit(unsigned flags) {
  if (flags != 0) return kInvalidValue;
  const MutexLock lock(driver().mutex);
  return driver().initialise();
}

CUresult cuDriverGetVersion(int* version) {
  const MutexLock lock(driver().mutex);
  *version = driver().initialised() ? driver().settings().driverVersion
                                    : kiln::emulated::Settings::fromEnvironment().driverVersion;
  return kSuccess;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  const auto* const found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                         [&](const ErrorText& one) { return one.code == error; });
  *name = found == std::end(kErrors) ? nullptr : found->name;
  return *name == nullptr ? kInvalidValue : kSuccess;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  {
    const MutexLock lock(driver().mutex);
    *text = driver().text(error);
  }
  const auto* const found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                         [&](const ErrorText& one) { return one.code == error; });
  if (*text == nullptr && found != std::end(kErrors)) *text = found->text;
  return *text == nullptr ? kInvalidValue : kSuccess;
}

CUresult cuDeviceGetCount(int* count) {
  const MutexLock lock(driver().mutex);
  if (!driver().initialised()) return kNotInitialized;
  *count = driver().settings().devices;
  return kSuccess;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  const MutexLock lock(driver().mutex);
  if (driver().device(ordinal) == nullptr) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

CUresult cuDeviceGetName(char* name, int capacity, CUdevice device) {
  constexpr char kName[] = "Kiln emulated device (test only)";
  const MutexLock lock(driver().mutex);
  if (driver().device(device) == nullptr || capacity <= 0) return kInvalidDevice;
  const auto bytes = std::min(sizeof kName, static_cast<std::size_t>(capacity)) - 1;
  std::memcpy(name, kName, bytes);
  name[bytes] = '\0';
  return kSuccess;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  const MutexLock lock(driver().mutex);
  if (driver().device(device) == nullptr) return kInvalidDevice;
  *uuid = {{'k', 'i', 'l', 'n', 'e', 'm', 'u', 'l', 'a', 't', 'e', 'd', 0, 0, 0, 0}};
  uuid->bytes[15] = static_cast<unsigned char>(device);
  return kSuccess;
}

CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  const MutexLock lock(driver().mutex);
  if (driver().device(device) == nullptr) return kInvalidDevice;
  const auto capability = driver().settings().capability(device);
  switch (attribute) {
    case kAttributeMaxThreadsPerBlock:
      *value = 1024;
      return kSuccess;
    case kAttributeWarpSize:
      *value = 32;
      return kSuccess;
    case kAttributeMultiprocessors:
      *value = static_cast<int>(driver().settings().threads);
      return kSuccess;
    case kAttributeComputeCapabilityMajor:
      *value = capability.major;
      return kSuccess;
    case kAttributeComputeCapabilityMinor:
      *value = capability.minor;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  const MutexLock lock(driver().mutex);
  Device* const one = driver().device(device);
  if (one == nullptr) return kInvalidDevice;
  *bytes = one->memory.limit();
  return kSuccess;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const MutexLock lock(driver().mutex);
  Device* const one = driver().device(device);
  if (one == nullptr) return kInvalidDevice;
  if (one->failure != kSuccess) return one->failure;
  ++one->contexts;
  *context = reinterpret_cast<CUcontext>(one);
  return kSuccess;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  const MutexLock lock(driver().mutex);
  Device* const one = driver().device(device);
  if (one == nullptr || one->contexts == 0) return kInvalidContext;
  --one->contexts;
  return kSuccess;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  const MutexLock lock(driver().mutex);
  if (context == nullptr) return kInvalidContext;
  driver().stack().push_back(reinterpret_cast<Device*>(context));
  return kSuccess;
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  const MutexLock lock(driver().mutex);
  auto& stack = driver().stack();
  if (stack.empty()) return kInvalidContext;
  if (context != nullptr) *context = reinterpret_cast<CUcontext>(stack.back());
  stack.pop_back();
  return kSuccess;
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return onDevice([&](Driver&, Device& device) {
    *total = device.memory.limit();
    *free = device.memory.limit() - device.memory.used();
    return kSuccess;
  });
}

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  return onDevice([&](Driver& state, Device& device) KILN_REQUIRES(state.mutex) -> CUresult {
    if (bytes == 0) return kInvalidValue;
    *pointer = device.memory.allocate(bytes);
    if (*pointer == 0) return kOutOfMemory;
    ++state.statistics.device_allocations;
    state.statistics.device_bytes += bytes;
    return kSuccess;
  });
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return giveBack([&](Driver& state, Device& device) KILN_REQUIRES(state.mutex) -> CUresult {
    const std::uint64_t used = device.memory.used(), unscrubbed = device.memory.unscrubbed();
    if (!device.memory.release(pointer)) return kInvalidValue;
    state.statistics.device_bytes -= used - device.memory.used();
    state.statistics.unscrubbed += device.memory.unscrubbed() - unscrubbed;
    return kSuccess;
  });
}

CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return onDevice([&](Driver& state, Device& device) KILN_REQUIRES(state.mutex) -> CUresult {
    constexpr std::size_t kPage = 4096;
    if (bytes == 0) return kInvalidValue;
    *pointer = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
    if (*pointer == nullptr) return kOutOfMemory;
    device.pinned[*pointer] = bytes;
    state.statistics.pinned_bytes += bytes;
    return kSuccess;
  });
}

CUresult cuMemFreeHost(void* pointer) {
  return giveBack([&](Driver& state, Device& device) KILN_REQUIRES(state.mutex) -> CUresult {
    const auto found = device.pinned.find(pointer);
    if (found == device.pinned.end()) return kInvalidValue;
    const auto* const begin = static_cast<const unsigned char*>(pointer);
    state.statistics.unscrubbed +=
        std::any_of(begin, begin + found->second, [](unsigned char b) { return b != 0; });
    state.statistics.pinned_bytes -= found->second;
    device.pinned.erase(found);
    std::free(pointer);
    return kSuccess;
  });
}

// As a driver does: what is not pinned is taken at once.
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return onDevice([&](Driver& state, Device& device) KILN_REQUIRES(state.mutex) -> CUresult {
    if (stream == nullptr) return kInvalidHandle;
    if (!device.memory.contains(to, bytes)) return kInvalidValue;
    CopyOp copy{reinterpret_cast<void*>(to), from, bytes, nullptr};
    if (!isPinned(device, from, bytes)) {
      if (streamOf(stream)->capture) return kStreamCaptureUnsupported;
      const auto* const begin = static_cast<const std::uint8_t*>(from);
      copy.snapshot = std::make_shared<const std::vector<std::uint8_t>>(begin, begin + bytes);
    }
    return state.enqueue(*streamOf(stream), std::move(copy));
  });
}

// As a driver does: returns only when the copy is done where the memory is not pinned.
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return onDevice([&](Driver& state, Device& device) KILN_REQUIRES(state.mutex) -> CUresult {
    if (stream == nullptr) return kInvalidHandle;
    if (!device.memory.contains(from, bytes)) return kInvalidValue;
    const bool pinned = isPinned(device, to, bytes);
    if (!pinned && streamOf(stream)->capture) return kStreamCaptureUnsupported;
    const CUresult enqueued =
        state.enqueue(*streamOf(stream), CopyOp{to, reinterpret_cast<const void*>(from), bytes, nullptr});
    return enqueued != kSuccess || pinned ? enqueued : state.drain(*streamOf(stream));
  });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  return onDevice([&](Driver& state, Device& device) KILN_REQUIRES(state.mutex) -> CUresult {
    if (stream == nullptr) return kInvalidHandle;
    if (!device.memory.contains(to, bytes)) return kInvalidValue;
    return state.enqueue(*streamOf(stream), FillOp{reinterpret_cast<void*>(to), value, bytes});
  });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return onDevice([&](Driver& state, Device& device) KILN_REQUIRES(state.mutex) -> CUresult {
    auto file = KernelFile::load(image, kiln::emulated::Settings::fromEnvironment().kernels);
    if (!file) {
      const bool absent = file.error().code == kiln::Code::kNotFound;
      return state.failWith(absent ? kNoBinaryForGpu : kInvalidImage,
                            std::string(absent ? "no kernel image is available for execution on the device: "
                                               : "device kernel image is invalid: ") +
                                file.error().message);
    }
    *module = reinterpret_cast<CUmodule>(new Module{&device, *file, {}});
    ++state.statistics.modules;
    return kSuccess;
  });
}

CUresult cuModuleUnload(CUmodule module) {
  return giveBack([&](Driver& state, Device&) KILN_REQUIRES(state.mutex) {
    delete reinterpret_cast<Module*>(module);
    --state.statistics.modules;
    return kSuccess;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return onDevice([&](Driver&, Device&) -> CUresult {
    auto& loaded = *reinterpret_cast<Module*>(module);
    const kiln_emulated_entry* const entry = loaded.file->find(name);
    if (entry == nullptr) return kNotFound;
    *function = reinterpret_cast<CUfunction>(&loaded.functions.emplace_back(loaded.file, entry));
    return kSuccess;
  });
}

// Every parameter is taken as a word of 8 bytes, as Kiln's kernels have them.
CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void** parameters, void** extra) {
  return onDevice([&](Driver& state, Device&) KILN_REQUIRES(state.mutex) -> CUresult {
    if (stream == nullptr || function == nullptr) return kInvalidHandle;
    const Function& chosen = *reinterpret_cast<const Function*>(function);
    const kiln_emulated_entry& entry = *chosen.second;
    const bool grid =
        gridX != 0 && gridX <= 0x7fffffffu && gridY != 0 && gridY <= 65535 && gridZ != 0 && gridZ <= 65535;
    if (!grid || blockX != entry.threads || blockY != 1 || blockZ != 1 || sharedBytes != 0)
      return kInvalidValue;
    if (extra != nullptr || (parameters == nullptr && entry.argument_count != 0)) return kInvalidValue;
    LaunchOp launch{
        chosen.first, &entry, {gridX, gridY, gridZ}, std::vector<std::uint64_t>(entry.argument_count)};
    for (std::uint32_t i = 0; i < entry.argument_count; ++i)
      std::memcpy(&launch.arguments[i], parameters[i], sizeof launch.arguments[i]);
    return state.enqueue(*streamOf(stream), std::move(launch));
  });
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  return onDevice([&](Driver&, Device& device) {
    *stream = reinterpret_cast<CUstream>(new Stream{&device, {}, nullptr});
    return kSuccess;
  });
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  return giveBack([&](Driver& state, Device&) KILN_REQUIRES(state.mutex) {
    state.drain(*streamOf(stream));
    delete streamOf(stream);
    return kSuccess;
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return onDevice([&](Driver& state, Device&) KILN_REQUIRES(state.mutex) -> CUresult {
    return stream == nullptr ? kInvalidHandle : state.drain(*streamOf(stream));
  });
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int) {
  return onDevice([&](Driver&, Device&) -> CUresult {
    if (streamOf(stream)->capture) return kInvalidValue;
    streamOf(stream)->capture = std::make_unique<std::vector<Op>>();
    return kSuccess;
  });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return onDevice([&](Driver&, Device&) -> CUresult {
    if (!streamOf(stream)->capture) return kInvalidValue;
    *graph = reinterpret_cast<CUgraph>(new Graph{std::move(*streamOf(stream)->capture)});
    streamOf(stream)->capture.reset();
    return kSuccess;
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  return onDevice([&](Driver&, Device&) {
    const Graph& made = *reinterpret_cast<const Graph*>(graph);
    *executable =
        reinterpret_cast<CUgraphExec>(new GraphOp{std::make_shared<const std::vector<Op>>(made.ops)});
    return kSuccess;
  });
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  return onDevice([&](Driver& state, Device&) KILN_REQUIRES(state.mutex) {
    return state.enqueue(*streamOf(stream), *reinterpret_cast<const GraphOp*>(executable));
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<Graph*>(graph);
  return kSuccess;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete reinterpret_cast<GraphOp*>(executable);
  return kSuccess;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  return onDevice([&](Driver&, Device&) {
    *event = reinterpret_cast<CUevent>(new std::shared_ptr<Event>(std::make_shared<Event>()));
    return kSuccess;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return onDevice([&](Driver& state, Device&) KILN_REQUIRES(state.mutex) {
    return state.enqueue(*streamOf(stream), EventOp{*reinterpret_cast<std::shared_ptr<Event>*>(event)});
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return onDevice([&](Driver&, Device&) -> CUresult {
    const Event& first = **reinterpret_cast<std::shared_ptr<Event>*>(start);
    const Event& last = **reinterpret_cast<std::shared_ptr<Event>*>(end);
    if (!first.recorded || !last.recorded) return kInvalidHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(last.time - first.time).count();
    return kSuccess;
  });
}

CUresult cuEventDestroy_v2(CUevent event) {
  delete reinterpret_cast<std::shared_ptr<Event>*>(event);
  return kSuccess;
}

}  // extern "C"
