// A session's part on a device: its memory there, its stream, and what a program asks for through its
// callbacks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/device_artifact.h"
#include "compiler_core/runtime/program/kernel_times.h"
#include "compiler_core/runtime/program_abi.h"

namespace kiln::runtime {

// One run of a program.
struct DeviceRun {
  std::size_t profile = 0;
  // Every run of the profile enqueues the same, but for the tensors' contents: what one enqueues may be
  // recorded and repeated.
  bool repeatable = false;
  // Every pointer that the program is given and that may be another one next time.
  std::vector<void*> pointers;
  // Calls kiln_run with these arenas, one per space; the first is null, the caller's to fill in.
  std::function<std::int32_t(std::vector<void*> arenas)> program;
  std::vector<std::int64_t>* dims = nullptr;  // what kiln_run writes to output_dims
  KernelTimes* times = nullptr;               // null: not measured
};

// One caller at a time.
class DeviceSession {
 public:
  // Checks and allocates the arenas of all spaces: one allocation. `tensors`: how many need staging.
  // kResourceExhausted names the planned bytes.
  static Result<std::unique_ptr<DeviceSession>> open(std::shared_ptr<const DeviceArtifact> artifact,
                                                     const Manifest& manifest, std::size_t tensors);
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;

  // Pinned memory for tensor `index`: at least `bytes`, never null, aligned. What it held before may be gone.
  Result<void*> staging(std::size_t index, std::uint64_t bytes);

  // Runs a program to the end of all that it enqueued; what the program returned. An error of the device is
  // kInternal with the driver's words, kUnavailable if the device itself stopped working; after one that ends
  // the device for the process every later run of the artifact's sessions there fails and says so.
  Result<std::int32_t> run(const DeviceRun& run);

  // The callbacks of that name (program_abi.h), during run().
  std::int32_t launch(const kiln_launch& launch);
  std::int32_t copy(std::uint32_t toSpace, void* to, std::uint32_t fromSpace, const void* from,
                    std::uint64_t bytes);
  std::int32_t wait(std::uint32_t space);
  // The program calls parallel_for: it does not work on devices alone.
  void worksOnHost() { hostWork_ = true; }

  const DeviceInfo& info() const { return artifact_->device().info(); }
  const std::string& cache() const { return artifact_->cache(); }
  const void* const* weights() const { return artifact_->weights(); }
  std::uint64_t plannedBytes() const { return (memory_ ? memory_->bytes() : 0) + artifact_->weightBytes(); }
  std::uint64_t observedBytes() const { return observedBytes_; }
  // Between the processor's memory and the device's, of runs that succeeded.
  std::uint64_t transferredBytes() const { return transferred_; }
  std::uint64_t replays() const { return replays_; }

 private:
  // What a profile's run enqueues.
  struct Recording {
    // kImpossible: the processor has work in between, or there is nothing to record.
    enum class State { kNone, kWanted, kReady, kImpossible } state = State::kNone;
    std::unique_ptr<DeviceRecording> run;
    std::vector<void*> pointers;
    std::vector<std::int64_t> dims;
    std::uint64_t copied = 0;
  };
  struct Timed {
    std::uint32_t space, kernel;
    std::int64_t blocks;
  };

  DeviceSession(std::shared_ptr<const DeviceArtifact> artifact, const Manifest& manifest,
                std::size_t tensors);
  const ComputeDevice& device() const { return artifact_->device(); }
  Result<std::int32_t> enqueue(const DeviceRun& run);
  Result<std::int32_t> program(const DeviceRun& run);
  // Whether there is a recording now.
  Result<bool> record(const DeviceRun& run, Recording& recording);
  Status replay(const DeviceRun& run, const Recording& recording);
  // `ended`: when all that was enqueued had.
  Status addTimes(KernelTimes& times, SpanList::Time ended);
  // Keeps the first failure of a run and tells a program's callback result.
  std::int32_t note(const Status& status);
  std::int32_t note(Error error);
  void observe();

  const std::shared_ptr<const DeviceArtifact> artifact_;
  const Manifest& manifest_;
  std::unique_ptr<DeviceQueue> queue_;
  std::unique_ptr<DeviceMemory> memory_;  // null where no space has an arena
  std::vector<void*> arenas_;             // by space
  std::vector<std::unique_ptr<PinnedMemory>> staging_;
  std::vector<Recording> recordings_;  // by profile
  std::uint64_t transferred_ = 0, replays_ = 0, observedBytes_ = 0;

  // The state of the run in progress.
  bool hostWork_ = false, enqueued_ = false, recording_ = false, measuring_ = false;
  std::uint64_t copied_ = 0;
  std::optional<Error> failure_;
  std::vector<Timed> timed_;  // launch i is between the queue's marks 2 i and 2 i + 1
};

}  // namespace kiln::runtime
