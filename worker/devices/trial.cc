#include "worker/devices/trial.h"

#include <vector>

#include "compiler_core/runtime/device/cuda_driver.h"
#include "compiler_core/runtime/device/vulkan_device.h"
#include "worker/devices/known_answers.h"

namespace kiln::devices {
namespace {

namespace cuda = runtime::cuda;

constexpr std::size_t kTestBytes = 1 << 20;
constexpr char kChanged[] = "what was copied to it came back changed";

std::vector<unsigned char> testPattern() {
  std::vector<unsigned char> bytes(kTestBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 131 >> 3);
  return bytes;
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
  const std::vector<unsigned char> there = testPattern();
  std::vector<unsigned char> back(kTestBytes);
  cuda::CUstream stream = nullptr;
  cuda::CUdeviceptr memory = 0;
  KILN_TRY(driver.check(driver->streamCreate(&stream, cuda::kStreamNonBlocking), "a stream"));
  KILN_TRY(driver.check(driver->memAlloc(&memory, there.size()), "1 MiB of its memory"));
  KILN_TRY(driver.check(driver->memcpyHtoDAsync(memory, there.data(), there.size(), stream), "a copy to it"));
  KILN_TRY(driver.check(driver->memcpyDtoHAsync(back.data(), memory, back.size(), stream), "a copy from it"));
  KILN_TRY(driver.check(driver->streamSynchronize(stream), "waiting for it"));
  if (there != back) return fail(Code::kUnavailable, kChanged);
  KILN_TRY(driver.check(driver->memFree(memory), "freeing its memory"));
  return driver.check(driver->streamDestroy(stream), "its stream");
}

}  // namespace

Status tryCudaDevice(const std::string& library, int ordinal) {
  KILN_ASSIGN(const auto driver, runtime::CudaDriver::open(library));
  cuda::CUdevice device = 0;
  KILN_TRY(driver->check((*driver)->deviceGet(&device, ordinal), "finding it"));
  Context context(*driver, device);
  KILN_TRY(context.enter());
  return roundTrip(*driver);
}

Status tryVulkanDevice(const std::string& library, int ordinal) {
  KILN_ASSIGN(const auto device, runtime::VulkanDevice::open(library, ordinal));
  KILN_ASSIGN(const auto queue, device->makeQueue({}));
  KILN_ASSIGN(const auto memory, device->allocate(kTestBytes, "a test"));
  const std::vector<unsigned char> there = testPattern();
  std::vector<unsigned char> back(kTestBytes);
  KILN_TRY(queue->upload(memory->address(), there.data(), there.size()));
  KILN_TRY(queue->wait());
  KILN_TRY(queue->download(back.data(), memory->address(), back.size()));
  KILN_TRY(queue->wait());
  if (there != back) return fail(Code::kUnavailable, kChanged);
  return checkKnownAnswers(*device);
}

}  // namespace kiln::devices
