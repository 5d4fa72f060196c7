#include "compiler_core/runtime/device/device_session.h"

#include <algorithm>

#include "compiler_core/runtime/device/device_layout.h"

namespace kiln::runtime {
namespace {

constexpr std::uint32_t kMaxThreads = 1024;

}  // namespace

Result<std::unique_ptr<DeviceSession>> DeviceSession::open(std::shared_ptr<const DeviceArtifact> artifact,
                                                           const Manifest& manifest, std::size_t tensors) {
  const ComputeDevice& device = artifact->device();
  const auto scope = device.enter();
  KILN_ASSIGN(const DevicePlan plan, devicePlan(manifest));
  KILN_ASSIGN(const std::uint64_t free, device.freeBytes());
  KILN_TRY(checkDeviceMemory(plan, true, device.info(), free));
  std::unique_ptr<DeviceSession> session(new DeviceSession(std::move(artifact), manifest, tensors));
  if (plan.arenaBytes != 0) {
    KILN_ASSIGN(session->memory_, device.allocate(plan.arenaBytes, "the program's arena"));
  }
  const std::uint64_t start = session->memory_ ? session->memory_->address() : 0;
  const DeviceArtifact& on = *session->artifact_;
  KILN_ASSIGN(session->queue_,
              device.makeQueue({start, plan.arenaBytes, on.weightAddress(), on.weightBytes()}));
  const DeviceArenas arenas(manifest);
  session->arenas_.push_back(nullptr);
  for (const std::uint64_t offset : arenas.offsets())
    session->arenas_.push_back(reinterpret_cast<void*>(start + offset));
  session->observe();
  return session;
}

DeviceSession::DeviceSession(std::shared_ptr<const DeviceArtifact> artifact, const Manifest& manifest,
                             std::size_t tensors)
    : artifact_(std::move(artifact)),
      manifest_(manifest),
      staging_(tensors),
      recordings_(manifest.profiles.size()) {}

Result<void*> DeviceSession::staging(std::size_t index, std::uint64_t bytes) {
  if (const auto lost = device().lost()) return fail(*lost);
  std::unique_ptr<PinnedMemory>& buffer = staging_[index];
  if (buffer == nullptr || buffer->bytes() < bytes) {
    // A recorded run copies from and to what goes.
    for (Recording& recording : recordings_)
      if (recording.state == Recording::State::kReady) recording = {};
    buffer.reset();
    KILN_ASSIGN(buffer, device().allocatePinned(std::max<std::uint64_t>(bytes, 1), "the copy of a tensor"));
  }
  return static_cast<void*>(buffer->data());
}

Result<std::int32_t> DeviceSession::run(const DeviceRun& run) {
  if (const auto lost = device().lost()) return fail(*lost);
  const auto scope = device().enter();
  Recording& recording = recordings_[run.profile];
  if (run.times == nullptr && run.repeatable) {
    if (recording.state == Recording::State::kReady && recording.pointers != run.pointers) recording = {};
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
  const Status done = queue_->wait();
  if (!status) return status;
  KILN_TRY(done);
  if (measuring_) KILN_TRY(addTimes(*run.times, std::chrono::steady_clock::now()));
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
  KILN_TRY(queue_->beginRecording());
  recording_ = true;
  measuring_ = false;
  const auto status = program(run);
  recording_ = false;
  recording.run = queue_->endRecording(status && *status == KILN_RUN_OK && !hostWork_);
  // Nothing has run yet: what cannot be recorded is enqueued run by run.
  recording.state = recording.run ? Recording::State::kReady : Recording::State::kImpossible;
  if (recording.state != Recording::State::kReady) return false;
  recording.pointers = run.pointers;
  recording.dims = *run.dims;
  recording.copied = copied_;
  return true;
}

Status DeviceSession::replay(const DeviceRun& run, const Recording& recording) {
  KILN_TRY(queue_->replay(*recording.run));
  KILN_TRY(queue_->wait());
  *run.dims = recording.dims;
  transferred_ += recording.copied;
  ++replays_;
  return {};
}

std::int32_t DeviceSession::launch(const kiln_launch& launch) {
  const KernelModule* const module = artifact_->module(launch.space);
  if (module == nullptr || launch.kernel >= manifest_.devices[launch.space - 1].kernels.size() ||
      launch.block == 0 || launch.block > kMaxThreads || launch.argument_count > KILN_MAX_KERNEL_ARGUMENTS ||
      launch.reserved != 0) {
    return note({Code::kInternal,
                 "the program launches kernel " + std::to_string(launch.kernel) + " of space " +
                     std::to_string(launch.space) + " with " + std::to_string(launch.block) +
                     " threads and " + std::to_string(launch.argument_count) + " arguments, which cannot be",
                 {}});
  }
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0) return KILN_RUN_OK;
  enqueued_ = true;
  const std::size_t mark = 2 * timed_.size();
  if (measuring_ && note(queue_->mark(mark)) != KILN_RUN_OK) return KILN_RUN_DEVICE_FAILED;
  if (note(queue_->launch(*module, launch)) != KILN_RUN_OK) return KILN_RUN_DEVICE_FAILED;
  if (!measuring_) return KILN_RUN_OK;
  timed_.push_back({launch.space, launch.kernel,
                    static_cast<std::int64_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2]});
  return note(queue_->mark(mark + 1));
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
  if (toSpace == 0) return note(queue_->download(to, reinterpret_cast<std::uint64_t>(from), bytes));
  return note(queue_->upload(reinterpret_cast<std::uint64_t>(to), from, bytes));
}

std::int32_t DeviceSession::wait(std::uint32_t space) {
  hostWork_ = true;
  // Ends the attempt to record.
  if (recording_) return KILN_RUN_DEVICE_FAILED;
  return note(queue_->wait());
}

Status DeviceSession::addTimes(KernelTimes& times, SpanList::Time ended) {
  using Nanoseconds = std::chrono::nanoseconds;
  SpanList::Time first;  // of the first kernel, as it must have been for the last one to end at `ended`
  if (times.spans() != nullptr && !timed_.empty()) {
    KILN_ASSIGN(const double whole, queue_->nanosecondsBetween(0, 2 * timed_.size() - 1));
    first = ended - Nanoseconds(static_cast<std::int64_t>(whole));
  }
  for (std::size_t i = 0; i < timed_.size(); ++i) {
    const Timed& one = timed_[i];
    KILN_ASSIGN(const double time, queue_->nanosecondsBetween(2 * i, 2 * i + 1));
    const Nanoseconds taken(static_cast<std::int64_t>(time));
    const std::size_t entry =
        times.add(manifest_.devices[one.space - 1].kernels[one.kernel], one.blocks, taken);
    if (times.spans() == nullptr) continue;
    double before = 0;
    if (i != 0) {
      KILN_ASSIGN(before, queue_->nanosecondsBetween(0, 2 * i));
    }
    times.spans()->add(entry, Span::kDevice, first + Nanoseconds(static_cast<std::int64_t>(before)), taken,
                       static_cast<std::uint64_t>(one.blocks));
  }
  return {};
}

std::int32_t DeviceSession::note(const Status& status) {
  return status ? KILN_RUN_OK : note(status.error());
}

std::int32_t DeviceSession::note(Error error) {
  if (!failure_) failure_ = std::move(error);
  return KILN_RUN_DEVICE_FAILED;
}

void DeviceSession::observe() {
  const auto free = device().freeBytes();
  if (free && *free < artifact_->freeBefore())
    observedBytes_ = std::max(observedBytes_, artifact_->freeBefore() - *free);
}

}  // namespace kiln::runtime
