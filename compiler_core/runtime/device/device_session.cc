#include "compiler_core/runtime/device/device_session.h"

#include <algorithm>
#include <array>

#include "compiler_core/runtime/device/device_layout.h"

namespace kiln::runtime {
namespace {

constexpr std::uint32_t kMaxThreads = 1024, kWarp = 32;

}  // namespace

Result<std::unique_ptr<DeviceSession>> DeviceSession::open(std::shared_ptr<const DeviceArtifact> artifact,
                                                           const Manifest& manifest, std::size_t tensors) {
  const std::shared_ptr<const DeviceContext> context = artifact->context();
  const DeviceContext::Scope scope(*context);
  KILN_ASSIGN(const DevicePlan plan, devicePlan(manifest));
  KILN_ASSIGN(const std::uint64_t free, context->freeBytes());
  KILN_TRY(checkDeviceMemory(plan, true, context->info(), free));
  std::unique_ptr<DeviceSession> session(new DeviceSession(std::move(artifact), manifest, tensors));
  KILN_ASSIGN(session->stream_, DeviceStream::create(context));
  KILN_ASSIGN(session->memory_,
              DeviceBuffer::allocate(context, plan.arenaBytes, session->stream_, "the program's arena"));
  const DeviceArenas arenas(manifest);
  session->arenas_.push_back(nullptr);
  for (const std::uint64_t offset : arenas.offsets())
    session->arenas_.push_back(reinterpret_cast<void*>(session->memory_.address() + offset));
  session->observe();
  return session;
}

DeviceSession::DeviceSession(std::shared_ptr<const DeviceArtifact> artifact, const Manifest& manifest,
                             std::size_t tensors)
    : artifact_(std::move(artifact)),
      manifest_(manifest),
      staging_(tensors),
      recordings_(manifest.profiles.size()) {}

DeviceSession::~DeviceSession() {
  const DeviceContext::Scope scope(*artifact_->context());
  for (Recording& recording : recordings_) forget(recording);
  for (const cuda::CUevent event : events_) driver()->eventDestroy(event);
}

Result<void*> DeviceSession::staging(std::size_t index, std::uint64_t bytes) {
  if (const auto lost = artifact_->context()->lost()) return fail(*lost);
  PinnedBuffer& buffer = staging_[index];
  if (buffer.data() == nullptr || buffer.bytes() < bytes) {
    buffer = PinnedBuffer();
    KILN_ASSIGN(buffer, PinnedBuffer::allocate(artifact_->context(), std::max<std::uint64_t>(bytes, 1),
                                               "the copy of a tensor"));
  }
  return static_cast<void*>(buffer.data());
}

Result<std::int32_t> DeviceSession::run(const DeviceRun& run) {
  if (const auto lost = artifact_->context()->lost()) return fail(*lost);
  const DeviceContext::Scope scope(*artifact_->context());
  Recording& recording = recordings_[run.profile];
  if (run.times == nullptr && run.repeatable) {
    if (recording.state == Recording::State::kReady && recording.pointers != run.pointers) forget(recording);
    if (recording.state == Recording::State::kWanted) KILN_TRY(record(run, recording));
    if (recording.state == Recording::State::kReady) {
      KILN_TRY(replay(run, recording));
      return KILN_RUN_OK;
    }
  }
  auto status = enqueue(run);
  if (status && *status == KILN_RUN_OK) {
    transferred_ += copied_;
    if (recording.state == Recording::State::kNone)
      recording.state = hostWork_ || !enqueued_ ? Recording::State::kImpossible : Recording::State::kWanted;
  }
  observe();
  return status;
}

// The stream is empty afterwards, whatever happened.
Result<std::int32_t> DeviceSession::enqueue(const DeviceRun& run) {
  measuring_ = run.times != nullptr;
  timed_.clear();
  const auto status = program(run);
  const Status done = check(driver()->streamSynchronize(stream_.get()), "waiting for the device");
  if (!status) return status;
  KILN_TRY(done);
  if (measuring_) KILN_TRY(addTimes(*run.times));
  return status;
}

Result<std::int32_t> DeviceSession::program(const DeviceRun& run) {
  hostWork_ = enqueued_ = false;
  copied_ = 0;
  failure_.reset();
  const std::int32_t status = run.program(arenas_);
  if (failure_) return fail(*failure_);
  if (status == KILN_RUN_DEVICE_FAILED)
    return fail(Code::kInternal, "the program says that the device failed, and no call to it did");
  return status;
}

Result<bool> DeviceSession::record(const DeviceRun& run, Recording& recording) {
  KILN_TRY(check(driver()->streamBeginCapture(stream_.get(), cuda::kCaptureThreadLocal), "recording a run"));
  recording_ = true;
  measuring_ = false;
  const auto status = program(run);
  recording_ = false;
  cuda::CUgraph graph = nullptr;
  const cuda::CUresult ended = driver()->streamEndCapture(stream_.get(), &graph);
  const bool usable =
      status && *status == KILN_RUN_OK && !hostWork_ && ended == cuda::kSuccess && graph != nullptr;
  cuda::CUresult made = cuda::kUnknown;
  if (usable) made = driver()->graphInstantiate(&recording.graph, graph, 0);
  if (graph != nullptr) driver()->graphDestroy(graph);
  // Nothing has run yet: what cannot be recorded is enqueued run by run.
  recording.state = made == cuda::kSuccess ? Recording::State::kReady : Recording::State::kImpossible;
  if (recording.state != Recording::State::kReady) return false;
  recording.pointers = run.pointers;
  recording.dims = *run.dims;
  recording.copied = copied_;
  return true;
}

Status DeviceSession::replay(const DeviceRun& run, const Recording& recording) {
  KILN_TRY(check(driver()->graphLaunch(recording.graph, stream_.get()), "starting the recorded run"));
  KILN_TRY(check(driver()->streamSynchronize(stream_.get()), "waiting for the device"));
  *run.dims = recording.dims;
  transferred_ += recording.copied;
  ++replays_;
  return {};
}

void DeviceSession::forget(Recording& recording) {
  if (recording.graph != nullptr) driver()->graphExecDestroy(recording.graph);
  recording = {};
}

std::int32_t DeviceSession::launch(const kiln_launch& launch) {
  const cuda::CUfunction function = artifact_->kernel(launch.space, launch.kernel);
  if (function == nullptr || launch.block == 0 || launch.block > kMaxThreads || launch.block % kWarp != 0 ||
      launch.argument_count > KILN_MAX_KERNEL_ARGUMENTS || launch.reserved != 0) {
    return note({Code::kInternal,
                 "the program launches kernel " + std::to_string(launch.kernel) + " of space " +
                     std::to_string(launch.space) + " with " + std::to_string(launch.block) +
                     " threads and " + std::to_string(launch.argument_count) + " arguments, which cannot be",
                 {}});
  }
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0) return KILN_RUN_OK;
  enqueued_ = true;
  const std::string& name = manifest_.devices[launch.space - 1].kernels[launch.kernel];
  const std::size_t timed = timed_.size();
  const auto mark = [&](std::size_t which) -> Status {
    if (!measuring_) return {};
    KILN_ASSIGN(const cuda::CUevent one, event(2 * timed + which));
    return check(driver()->eventRecord(one, stream_.get()), "timing kernel " + name);
  };
  if (const Status marked = mark(0); !marked) return note(marked.error());
  // The driver reads as many as the kernel has; beyond what the program gave there are zeros.
  static constexpr std::uint64_t kZero = 0;
  std::array<void*, KILN_MAX_KERNEL_ARGUMENTS + 1> parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i] = const_cast<std::uint64_t*>(i < launch.argument_count ? launch.arguments + i : &kZero);
  const cuda::CUresult launched =
      driver()->launchKernel(function, launch.grid[0], launch.grid[1], launch.grid[2], launch.block, 1, 1, 0,
                             stream_.get(), parameters.data(), nullptr);
  if (launched != cuda::kSuccess) return note(launched, "launching kernel " + name);
  if (const Status marked = mark(1); !marked) return note(marked.error());
  if (measuring_) {
    timed_.push_back({launch.space, launch.kernel,
                      static_cast<std::int64_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2]});
  }
  return KILN_RUN_OK;
}

std::int32_t DeviceSession::copy(std::uint32_t toSpace, void* to, std::uint32_t fromSpace, const void* from,
                                 std::uint64_t bytes) {
  if ((toSpace == 0) == (fromSpace == 0) || std::max(toSpace, fromSpace) >= arenas_.size()) {
    return note({Code::kInternal,
                 "the program copies from space " + std::to_string(fromSpace) + " to space " +
                     std::to_string(toSpace) + ", which cannot be",
                 {}});
  }
  if (bytes == 0) return KILN_RUN_OK;
  enqueued_ = true;
  copied_ += bytes;
  if (toSpace == 0) {
    return note(
        driver()->memcpyDtoHAsync(to, reinterpret_cast<cuda::CUdeviceptr>(from), bytes, stream_.get()),
        "copying from the device");
  }
  return note(driver()->memcpyHtoDAsync(reinterpret_cast<cuda::CUdeviceptr>(to), from, bytes, stream_.get()),
              "copying to the device");
}

std::int32_t DeviceSession::wait(std::uint32_t space) {
  hostWork_ = true;
  // Ends the attempt to record.
  if (recording_) return KILN_RUN_DEVICE_FAILED;
  return note(driver()->streamSynchronize(stream_.get()), "waiting for the device");
}

Status DeviceSession::addTimes(KernelTimes& times) {
  for (std::size_t i = 0; i < timed_.size(); ++i) {
    const Timed& one = timed_[i];
    float milliseconds = 0;
    KILN_TRY(check(driver()->eventElapsedTime(&milliseconds, events_[2 * i], events_[2 * i + 1]),
                   "timing a kernel"));
    times.add(manifest_.devices[one.space - 1].kernels[one.kernel], one.blocks,
              std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6)));
  }
  return {};
}

Result<cuda::CUevent> DeviceSession::event(std::size_t index) {
  while (events_.size() <= index) {
    cuda::CUevent made = nullptr;
    KILN_TRY(check(driver()->eventCreate(&made, cuda::kEventDefault), "making an event"));
    events_.push_back(made);
  }
  return events_[index];
}

std::int32_t DeviceSession::note(cuda::CUresult code, const std::string& what) {
  const Status status = check(code, what);
  return status ? KILN_RUN_OK : note(status.error());
}

std::int32_t DeviceSession::note(Error error) {
  if (!failure_) failure_ = std::move(error);
  return KILN_RUN_DEVICE_FAILED;
}

Status DeviceSession::check(cuda::CUresult code, const std::string& what) {
  const Status status = driver().check(code, what);
  if (!status && CudaDriver::isSticky(code)) {
    const std::string why = "an earlier run failed on device " + std::to_string(info().ordinal) + ", " +
                            info().name + " (" + status.error().message +
                            "); this process can use it no more: end it and load the artifact again";
    artifact_->context()->lose({status.error().code, why, {}});
  }
  return status;
}

void DeviceSession::observe() {
  const auto free = artifact_->context()->freeBytes();
  if (free && *free < artifact_->freeBefore())
    observedBytes_ = std::max(observedBytes_, artifact_->freeBefore() - *free);
}

}  // namespace kiln::runtime
