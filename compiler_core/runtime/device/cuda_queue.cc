#include "compiler_core/runtime/device/cuda_queue.h"

#include <array>

namespace kiln::runtime {
namespace {

constexpr std::uint32_t kWarp = 32;

class Graph final : public DeviceRecording {
 public:
  Graph(std::shared_ptr<const DeviceContext> context, cuda::CUgraphExec executable)
      : context_(std::move(context)), executable_(executable) {}
  ~Graph() override {
    const DeviceContext::Scope scope(*context_);
    context_->driver()->graphExecDestroy(executable_);
  }
  cuda::CUgraphExec get() const { return executable_; }

 private:
  const std::shared_ptr<const DeviceContext> context_;
  const cuda::CUgraphExec executable_;
};

}  // namespace

Result<std::unique_ptr<KernelModule>> CudaModule::load(std::shared_ptr<const DeviceContext> context,
                                                       const DeviceImageInfo& image,
                                                       const std::string& bytes) {
  std::unique_ptr<CudaModule> module(new CudaModule(std::move(context)));
  const CudaDriver& api = module->context_->driver();
  const DeviceContext::Scope scope(*module->context_);
  const std::string what = "loading " + image.image.path;
  KILN_TRY(api.check(api->moduleLoadData(&module->module_, bytes.data()), what));
  for (const std::string& name : image.kernels) {
    cuda::CUfunction function = nullptr;
    const cuda::CUresult found = api->moduleGetFunction(&function, module->module_, name.c_str());
    if (found == cuda::kNotFound)
      return fail(Code::kDataLoss, image.image.path + ": there is no kernel \"" + name + "\" in it");
    KILN_TRY(api.check(found, what + ": kernel \"" + name + "\""));
    module->functions_.push_back(function);
    module->names_.push_back(name);
  }
  return module;
}

CudaModule::~CudaModule() {
  if (module_ == nullptr) return;
  const DeviceContext::Scope scope(*context_);
  context_->driver()->moduleUnload(module_);
}

CudaQueue::~CudaQueue() {
  const DeviceContext::Scope scope(*context_);
  for (const cuda::CUevent event : events_) api().eventDestroy(event);
}

Status CudaQueue::check(cuda::CUresult code, const std::string& what) const {
  const Status status = context_->driver().check(code, what);
  if (!status && CudaDriver::isSticky(code)) device_->lose(status.error());
  return status;
}

Status CudaQueue::upload(std::uint64_t to, const void* from, std::uint64_t bytes) {
  return check(api().memcpyHtoDAsync(to, from, bytes, stream_.get()), "copying to the device");
}

Status CudaQueue::download(void* to, std::uint64_t from, std::uint64_t bytes) {
  return check(api().memcpyDtoHAsync(to, from, bytes, stream_.get()), "copying from the device");
}

Status CudaQueue::launch(const KernelModule& module, const kiln_launch& launch) {
  const auto& kernels = static_cast<const CudaModule&>(module);
  const std::string& name = kernels.name(launch.kernel);
  if (launch.block % kWarp != 0)
    return fail(Code::kInternal, "the program launches kernel " + name + " with " +
                                     std::to_string(launch.block) + " threads, no multiple of 32");
  // The driver reads as many as the kernel has; beyond what the program gave there are zeros.
  static constexpr std::uint64_t kZero = 0;
  std::array<void*, KILN_MAX_KERNEL_ARGUMENTS + 1> parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i] = const_cast<std::uint64_t*>(i < launch.argument_count ? launch.arguments + i : &kZero);
  return check(
      api().launchKernel(kernels.function(launch.kernel), launch.grid[0], launch.grid[1], launch.grid[2],
                         launch.block, 1, 1, 0, stream_.get(), parameters.data(), nullptr),
      "launching kernel " + name);
}

Status CudaQueue::wait() {
  return check(stream_.wait(), "waiting for the device");
}

Status CudaQueue::mark(std::size_t number) {
  while (events_.size() <= number) {
    cuda::CUevent made = nullptr;
    KILN_TRY(check(api().eventCreate(&made, cuda::kEventDefault), "making an event"));
    events_.push_back(made);
  }
  return check(api().eventRecord(events_[number], stream_.get()), "timing a kernel");
}

Result<double> CudaQueue::nanosecondsBetween(std::size_t first, std::size_t second) {
  float milliseconds = 0;
  KILN_TRY(check(api().eventElapsedTime(&milliseconds, events_[first], events_[second]), "timing a kernel"));
  return static_cast<double>(milliseconds) * 1e6;
}

Status CudaQueue::beginRecording() {
  return check(api().streamBeginCapture(stream_.get(), cuda::kCaptureThreadLocal), "recording a run");
}

std::unique_ptr<DeviceRecording> CudaQueue::endRecording(bool wanted) {
  cuda::CUgraph graph = nullptr;
  const cuda::CUresult ended = api().streamEndCapture(stream_.get(), &graph);
  cuda::CUgraphExec executable = nullptr;
  const bool made = wanted && ended == cuda::kSuccess && graph != nullptr &&
                    api().graphInstantiate(&executable, graph, 0) == cuda::kSuccess;
  if (graph != nullptr) api().graphDestroy(graph);
  if (!made) return nullptr;
  return std::make_unique<Graph>(context_, executable);
}

Status CudaQueue::replay(const DeviceRecording& recording) {
  return check(api().graphLaunch(static_cast<const Graph&>(recording).get(), stream_.get()),
               "starting the recorded run");
}

}  // namespace kiln::runtime
