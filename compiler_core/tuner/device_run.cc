#include "compiler_core/tuner/device_run.h"

#include <algorithm>

namespace kiln::tuner {
namespace {

using runtime::DeviceMemory;

constexpr double kSampleNanoseconds = 1e6;    // about
constexpr std::uint64_t kMaxLaunches = 4096;  // of a sample
constexpr std::uint32_t kMaxThreads = 1024;   // of a block

}  // namespace

Result<std::unique_ptr<DeviceMemory>> DeviceRoom::allocate(std::uint64_t bytes, const char* what) const {
  return device->allocate(std::max<std::uint64_t>(1, bytes), what);
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
    KILN_ASSIGN(auto memory, room.allocate(output.bytes(), "a kernel's output"));
    run->outputs_.push_back(std::move(memory));
    run->outputBytes_.push_back(output.bytes());
  }
  const auto& table = *static_cast<const kiln_program*>(elf.symbol());
  for (const DevicePointers& pointers : copies) KILN_TRY(run->collect(table, program, pointers));
  KILN_TRY(run->enqueue(0));
  KILN_TRY(run->queue().wait());
  return run;
}

Status DeviceKernelRun::loadImage(const KernelProgram& program) {
  DeviceImageInfo image;
  image.image.path = "a candidate's kernels";
  image.kernels = program.imageKernels;
  image.computeCapability = program.imageVersion;
  kernels_ = program.imageKernels.size();
  KILN_ASSIGN(module_, room_.device->load(image, program.image, ""));
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
  for (const auto& output : outputs_) outputs.push_back(reinterpret_cast<void*>(output->address()));
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
      table.profiles[0].run(&callbacks, reinterpret_cast<void*>(arena_->address()), weights.data(),
                            pointers.inputs.data(), outputs.data(), nullptr, dims.data());
  if (status != KILN_RUN_OK) return fail(Code::kInternal, "the kernel returned " + std::to_string(status));
  return {};
}

std::int32_t DeviceKernelRun::note(const kiln_launch& launch) {
  if (launch.kernel >= kernels_ || launch.block == 0 || launch.block > kMaxThreads ||
      launch.argument_count > KILN_MAX_KERNEL_ARGUMENTS)
    return KILN_RUN_DEVICE_FAILED;
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0) return KILN_RUN_OK;
  launches_.back().push_back({launch.kernel,
                              {launch.grid[0], launch.grid[1], launch.grid[2]},
                              launch.block,
                              {launch.arguments, launch.arguments + launch.argument_count}});
  return KILN_RUN_OK;
}

Status DeviceKernelRun::enqueue(std::size_t copy) {
  for (const Launch& launch : launches_[copy % launches_.size()]) {
    kiln_launch asked{};
    asked.kernel = launch.kernel;
    std::copy_n(launch.grid, 3, asked.grid);
    asked.block = launch.block;
    asked.argument_count = static_cast<std::uint32_t>(launch.arguments.size());
    asked.arguments = launch.arguments.data();
    KILN_TRY(queue().launch(*module_, asked));
  }
  return {};
}

Status DeviceKernelRun::enqueueRuns(std::uint64_t runs) {
  for (std::uint64_t i = 0; i < runs; ++i) KILN_TRY(enqueue(i));
  return {};
}

Result<std::vector<std::vector<std::uint8_t>>> DeviceKernelRun::results() {
  std::vector<std::vector<std::uint8_t>> results;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    std::vector<std::uint8_t>& bytes = results.emplace_back(outputBytes_[i]);
    if (bytes.empty()) continue;
    KILN_TRY(queue().download(bytes.data(), outputs_[i]->address(), bytes.size()));
    KILN_TRY(queue().wait());
  }
  return results;
}

template <class Work>
Result<double> DeviceKernelRun::timed(const Work& work) {
  KILN_TRY(queue().mark(0));
  KILN_TRY(work());
  KILN_TRY(queue().mark(1));
  KILN_TRY(queue().wait());
  KILN_ASSIGN(const double nanoseconds, queue().nanosecondsBetween(0, 1));
  return std::max(0.0, nanoseconds);
}

// What comes first is the warm-up.
Status DeviceKernelRun::prepare() {
  KILN_ASSIGN(const double first, timed([&] { return enqueue(1); }));
  const std::uint64_t most = kMaxLaunches / std::max<std::size_t>(1, launches_[0].size());
  const double wanted = kSampleNanoseconds / std::max(first, 100.0);
  const auto runs = std::max<std::uint64_t>(1, std::min(most, static_cast<std::uint64_t>(wanted)));
  // A submission of Vulkan holds its marks and starts as a whole; each launch of CUDA would start by itself.
  if (room_.device->info().api == runtime::DeviceApi::kCuda) {
    KILN_TRY(queue().beginRecording());
    const Status enqueued = enqueueRuns(runs);
    recording_ = queue().endRecording(enqueued.has_value());
    KILN_TRY(enqueued);
    if (!recording_) return fail(Code::kInternal, "recording a kernel: the driver does not record it");
    KILN_TRY(queue().replay(*recording_));
  }
  perSample_ = runs;
  return {};
}

Result<std::uint64_t> DeviceKernelRun::sample() {
  if (perSample_ == 0) KILN_TRY(prepare());
  KILN_ASSIGN(const double nanoseconds,
              timed([&] { return recording_ ? queue().replay(*recording_) : enqueueRuns(perSample_); }));
  return static_cast<std::uint64_t>(nanoseconds) / perSample_;
}

}  // namespace kiln::tuner
