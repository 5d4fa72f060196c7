#include "compiler_core/tuner/device_run.h"

#include <algorithm>

namespace kiln::tuner {
namespace {

using runtime::CudaDriver;
using runtime::DeviceBuffer;
namespace cuda = runtime::cuda;

constexpr double kSampleMilliseconds = 1;    // about
constexpr std::uint64_t kMaxNodes = 4096;    // launches of a sample
constexpr std::uint32_t kMaxThreads = 1024;  // of a block

}  // namespace

Status DeviceRoom::check(cuda::CUresult code, const std::string& what) {
  isSpent = isSpent || CudaDriver::isSticky(code);
  return context->driver().check(code, what);
}

Result<DeviceBuffer> DeviceRoom::allocate(std::uint64_t bytes, const char* what) const {
  return DeviceBuffer::allocate(context, std::max<std::uint64_t>(1, bytes), stream, what);
}

DeviceKernelRun::~DeviceKernelRun() {
  if (graph_ != nullptr) driver().graphExecDestroy(graph_);
  for (const cuda::CUevent event : events_)
    if (event != nullptr) driver().eventDestroy(event);
  if (module_ != nullptr) driver().moduleUnload(module_);
}

Result<std::unique_ptr<DeviceKernelRun>> DeviceKernelRun::load(DeviceRoom& room, const KernelProgram& program,
                                                               const std::vector<KernelTensor>& outputs,
                                                               const std::vector<DevicePointers>& copies) {
  if (program.image.empty()) return fail(Code::kInvalidArgument, "the program is for no device");
  KILN_ASSIGN(const runtime::MappedElf elf,
              runtime::MappedElf::map(asBytes(program.elf), KILN_PROGRAM_SYMBOL, sizeof(kiln_program)));
  std::unique_ptr<DeviceKernelRun> run(new DeviceKernelRun(room));
  KILN_TRY(run->loadImage(program));
  KILN_ASSIGN(run->arena_, room.allocate(program.arenaBytes, "a kernel's arena"));
  for (const KernelTensor& output : outputs) {
    KILN_ASSIGN(DeviceBuffer buffer, room.allocate(output.bytes(), "a kernel's output"));
    run->outputs_.push_back(std::move(buffer));
    run->outputBytes_.push_back(output.bytes());
  }
  const auto& table = *static_cast<const kiln_program*>(elf.symbol());
  for (const DevicePointers& pointers : copies) KILN_TRY(run->collect(table, program, pointers));
  for (cuda::CUevent& event : run->events_)
    KILN_TRY(room.check(run->driver().eventCreate(&event, cuda::kEventDefault), "making an event"));
  KILN_TRY(run->enqueue(0));
  KILN_TRY(room.check(room.stream.wait(), "running a kernel"));
  return run;
}

Status DeviceKernelRun::loadImage(const KernelProgram& program) {
  KILN_TRY(room_.check(driver().moduleLoadData(&module_, program.image.data()), "loading a kernel"));
  for (const std::string& name : program.imageKernels) {
    cuda::CUfunction function = nullptr;
    KILN_TRY(room_.check(driver().moduleGetFunction(&function, module_, name.c_str()),
                         "loading kernel \"" + name + "\""));
    functions_.push_back(function);
  }
  return {};
}

Status DeviceKernelRun::collect(const kiln_program& table, const KernelProgram& program,
                                const DevicePointers& pointers) {
  std::vector<const void*> weights;
  for (const KernelWeight& weight : program.weights) {
    if (weight.number >= pointers.weights.size() || weight.panelLanes != 0)
      return fail(Code::kInvalidArgument, "a program reads a weight that its kernel does not have");
    weights.push_back(pointers.weights[weight.number]);
  }
  std::vector<void*> outputs;
  for (const DeviceBuffer& output : outputs_) outputs.push_back(reinterpret_cast<void*>(output.address()));
  std::vector<std::int64_t> dims(table.output_dim_count);
  const kiln_callbacks callbacks = {
      .parallel_for = nullptr,
      .user = this,
      .launch = [](void* user,
                   const kiln_launch* launch) { return static_cast<DeviceKernelRun*>(user)->note(*launch); },
      .copy = nullptr,
      .wait = nullptr,
      .arenas = nullptr};
  launches_.emplace_back();
  const std::int32_t status =
      table.profiles[0].run(&callbacks, reinterpret_cast<void*>(arena_.address()), weights.data(),
                            pointers.inputs.data(), outputs.data(), nullptr, dims.data());
  if (status != KILN_RUN_OK) return fail(Code::kInternal, "the kernel returned " + std::to_string(status));
  return {};
}

std::int32_t DeviceKernelRun::note(const kiln_launch& launch) {
  if (launch.kernel >= functions_.size() || launch.block == 0 || launch.block > kMaxThreads ||
      launch.argument_count > KILN_MAX_KERNEL_ARGUMENTS)
    return KILN_RUN_DEVICE_FAILED;
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0) return KILN_RUN_OK;
  launches_.back().push_back({functions_[launch.kernel],
                              {launch.grid[0], launch.grid[1], launch.grid[2]},
                              launch.block,
                              {launch.arguments, launch.arguments + launch.argument_count}});
  return KILN_RUN_OK;
}

Status DeviceKernelRun::enqueue(std::size_t copy) {
  for (Launch& launch : launches_[copy % launches_.size()]) {
    std::vector<void*> parameters;
    for (std::uint64_t& argument : launch.arguments) parameters.push_back(&argument);
    KILN_TRY(room_.check(
        driver().launchKernel(launch.function, launch.grid[0], launch.grid[1], launch.grid[2], launch.block,
                              1, 1, 0, room_.stream.get(), parameters.data(), nullptr),
        "launching a kernel"));
  }
  return {};
}

Result<std::vector<std::vector<std::uint8_t>>> DeviceKernelRun::results() {
  std::vector<std::vector<std::uint8_t>> results;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    std::vector<std::uint8_t>& bytes = results.emplace_back(outputBytes_[i]);
    if (bytes.empty()) continue;
    KILN_TRY(room_.check(
        driver().memcpyDtoHAsync(bytes.data(), outputs_[i].address(), bytes.size(), room_.stream.get()),
        "reading a kernel's results"));
    KILN_TRY(room_.check(room_.stream.wait(), "reading a kernel's results"));
  }
  return results;
}

template <class Work>
Result<double> DeviceKernelRun::timed(const Work& work) {
  KILN_TRY(room_.check(driver().eventRecord(events_[0], room_.stream.get()), "timing a kernel"));
  KILN_TRY(work());
  KILN_TRY(room_.check(driver().eventRecord(events_[1], room_.stream.get()), "timing a kernel"));
  KILN_TRY(room_.check(room_.stream.wait(), "running a kernel"));
  float milliseconds = 0;
  KILN_TRY(room_.check(driver().eventElapsedTime(&milliseconds, events_[0], events_[1]), "timing a kernel"));
  return std::max(0.0, static_cast<double>(milliseconds));
}

// As the runtime replays a run; what comes first is the warm-up.
Status DeviceKernelRun::record() {
  KILN_ASSIGN(const double first, timed([&] { return enqueue(1); }));
  const std::uint64_t most = kMaxNodes / std::max<std::size_t>(1, launches_[0].size());
  const double wanted = kSampleMilliseconds / std::max(first, 1e-4);
  const auto runs = std::max<std::uint64_t>(1, std::min(most, static_cast<std::uint64_t>(wanted)));
  KILN_TRY(room_.check(driver().streamBeginCapture(room_.stream.get(), cuda::kCaptureThreadLocal),
                       "recording a kernel"));
  Status enqueued;
  for (std::uint64_t i = 0; i < runs && enqueued; ++i) enqueued = enqueue(i);
  cuda::CUgraph graph = nullptr;
  const Status ended =
      room_.check(driver().streamEndCapture(room_.stream.get(), &graph), "recording a kernel");
  Status made = enqueued ? ended : enqueued;
  if (made) made = room_.check(driver().graphInstantiate(&graph_, graph, 0), "recording a kernel");
  if (graph != nullptr) driver().graphDestroy(graph);
  KILN_TRY(made);
  KILN_TRY(room_.check(driver().graphLaunch(graph_, room_.stream.get()), "running a kernel"));
  perSample_ = runs;
  return {};
}

Result<std::uint64_t> DeviceKernelRun::sample() {
  if (perSample_ == 0) KILN_TRY(record());
  KILN_ASSIGN(const double milliseconds, timed([&] {
                return room_.check(driver().graphLaunch(graph_, room_.stream.get()), "running a kernel");
              }));
  return static_cast<std::uint64_t>(milliseconds * 1e6) / perSample_;
}

}  // namespace kiln::tuner
