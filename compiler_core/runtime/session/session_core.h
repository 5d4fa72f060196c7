// The inside of a kiln_session: memory and threads for one artifact, the entry checks, warmup and counters.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler_core/runtime/compare/compare.h"
#include "compiler_core/runtime/device/device_session.h"
#include "compiler_core/runtime/kiln_runtime.h"
#include "compiler_core/runtime/parallel/thread_pool.h"
#include "compiler_core/runtime/program/kernel_times.h"
#include "compiler_core/runtime/session/arena.h"
#include "compiler_core/runtime/session/artifact.h"
#include "compiler_core/runtime/session/fixtures.h"
#include "compiler_core/runtime/session/guards.h"
#include "compiler_core/runtime/session/profiles.h"
#include "manifest/base/mutex.h"

namespace kiln::runtime {

// Thread safe: calls take turns.
class SessionCore {
 public:
  static Result<std::unique_ptr<SessionCore>> open(std::shared_ptr<const LoadedArtifact> artifact,
                                                   const kiln_session_options& options);

  Status outputShapes(std::span<const kiln_tensor> inputs, std::span<kiln_output> outputs) const;
  Status run(std::span<const kiln_tensor> inputs, std::span<kiln_output> outputs);
  Status warmup();
  bool ready() const { return ready_.load(std::memory_order_acquire); }
  kiln_counters counters() const;
  // As kiln_session_profiles, kiln_session_kernels, kiln_session_spans and kiln_session_index_checks.
  std::size_t profiles(std::span<kiln_profile_counters> profiles) const;
  std::size_t kernels(std::span<kiln_kernel_time> kernels) const;
  std::size_t spans(std::span<kiln_span> spans, std::uint64_t& left) const;
  std::size_t indexChecks(std::span<kiln_index_check> checks) const;

 private:
  // A checked call: tensors in the manifest's order, the profile that serves it, and for each output the
  // shape that the program states and the one that the caller gets (smaller when symbols were padded).
  struct Plan {
    BoundInputs inputs;
    std::vector<kiln_output*> outputs;
    ProfileChoice choice;
    std::vector<std::vector<std::int64_t>> stated, wanted;
    // As the counters of these names.
    std::uint64_t transferBytes = 0, tensorBytes = 0, paddingBytes = 0;
    std::span<const std::int64_t> outOfRange = {};  // as the manifest's indexChecks; until the next run
  };
  // What a profile has seen.
  struct Profile {
    std::string path;
    kiln_profile_counters counters;
  };

  SessionCore(std::shared_ptr<const LoadedArtifact> artifact, std::unique_ptr<ThreadPool> pool, Arena arena,
              std::unique_ptr<DeviceSession> device, FunctionNames names,
              const kiln_session_options& options);
  // `profile` is the one to take; none: the first that holds the inputs.
  Result<Plan> plan(std::span<const kiln_tensor> inputs, std::span<kiln_output> outputs,
                    std::optional<std::size_t> profile) const;
  std::vector<std::vector<std::int64_t>> outputShapes(std::size_t profile,
                                                      const std::vector<std::int64_t>& symbols) const;
  // Carries a plan out; `times`: null when not measured.
  Status carryOut(Plan& plan, KernelTimes* times) KILN_REQUIRES(mutex_);
  // Room for a copy of tensor `index`, inputs first: at least `bytes`, never null.
  Result<void*> staging(std::size_t index, std::uint64_t bytes) KILN_REQUIRES(mutex_);
  // Whether the caller's buffer can be given to the program.
  bool inPlace(const void* data, std::uint64_t bytes) const;
  Result<std::vector<void*>> stageInputs(Plan& plan) KILN_REQUIRES(mutex_);
  Result<std::vector<void*>> stageOutputs(Plan& plan) KILN_REQUIRES(mutex_);
  Status call(const Plan& plan, const std::vector<void*>& inputs, const std::vector<void*>& outputs,
              std::vector<std::int64_t>& dims, KernelTimes* times) KILN_REQUIRES(mutex_);
  // kiln_run with the arenas of a device program, by space; of another one, none.
  std::int32_t callProgram(const Plan& plan, const std::vector<void*>& inputs,
                           const std::vector<void*>& outputs, std::vector<std::int64_t>& dims,
                           KernelTimes* times, std::vector<void*> arenas) KILN_REQUIRES(mutex_);
  bool isRepeatable(std::size_t profile) const;
  Status deliver(Plan& plan, const std::vector<void*>& data, std::span<const std::int64_t> dims) const;
  Status warmProfile(std::size_t profile, const FixtureProfile& files, double relativeTolerance)
      KILN_REQUIRES(mutex_);
  // Takes in what a run counted; kAborted with check_indices if that is more than nothing.
  Status countIndices(std::span<const std::int64_t> outOfRange) KILN_REQUIRES(mutex_);
  // Lives as long as the session.
  const char* symbolOf(const KernelTimes::Entry& entry) const;
  void enter(std::size_t profile) KILN_REQUIRES(mutex_);
  void observe() const KILN_REQUIRES(mutex_);

  const std::shared_ptr<const LoadedArtifact> artifact_;
  const std::unique_ptr<ThreadPool> pool_;
  const Arena arena_;                            // of the largest profile; all of them use it
  const std::unique_ptr<DeviceSession> device_;  // null for a program that needs none
  const bool runBeforeReady_, measureKernels_, checkIndices_;
  const FunctionNames names_;  // empty unless kernels are measured
  std::atomic<bool> ready_{false};

  mutable Mutex mutex_;
  // Inputs, then outputs, then the counts of indices; of a device session elsewhere.
  std::vector<Arena> staged_ KILN_GUARDED_BY(mutex_);
  std::vector<kiln_index_check> indexChecks_ KILN_GUARDED_BY(mutex_);
  mutable std::vector<Profile> profiles_ KILN_GUARDED_BY(mutex_);
  std::optional<std::size_t> current_ KILN_GUARDED_BY(mutex_);  // profile of the last run
  bool alone_ KILN_GUARDED_BY(mutex_) = false;  // nobody but the current profile has touched the arena
  KernelTimes kernels_ KILN_GUARDED_BY(mutex_);
  kiln_counters counters_ KILN_GUARDED_BY(mutex_) = {};
};

}  // namespace kiln::runtime
