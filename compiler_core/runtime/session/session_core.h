// What a kiln_session is: memory and threads for one artifact, the entry checks, warmup and counters.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler_core/runtime/compare/compare.h"
#include "compiler_core/runtime/kiln_runtime.h"
#include "compiler_core/runtime/parallel/mutex.h"
#include "compiler_core/runtime/parallel/thread_pool.h"
#include "compiler_core/runtime/session/arena.h"
#include "compiler_core/runtime/session/artifact.h"
#include "compiler_core/runtime/session/fixtures.h"
#include "compiler_core/runtime/session/guards.h"

namespace kiln::runtime {

// Thread safe: calls take turns.
class SessionCore {
 public:
  static Result<std::unique_ptr<SessionCore>> open(std::shared_ptr<const LoadedArtifact> artifact,
                                                   const kiln_session_options& options);

  Status run(std::span<const kiln_tensor> inputs, std::span<const kiln_tensor> outputs);
  Status warmup();
  bool ready() const { return ready_.load(std::memory_order_acquire); }
  kiln_counters counters() const;

 private:
  // A buffer of the caller as the program sees it: itself, or an aligned copy.
  struct Staged {
    Arena copy;
  };
  using Nanoseconds = std::chrono::nanoseconds;

  SessionCore(std::shared_ptr<const LoadedArtifact> artifact, std::unique_ptr<ThreadPool> pool, Arena arena,
              bool runBeforeReady);
  Status runLocked(std::span<const kiln_tensor> inputs, std::span<const kiln_tensor> outputs)
      KILN_REQUIRES(mutex_);
  Result<void*> stage(const kiln_tensor& tensor, Staged& staged) KILN_REQUIRES(mutex_);
  Status call(const std::vector<void*>& inputs, const std::vector<void*>& outputs) KILN_REQUIRES(mutex_);
  Status warmProfile(const FixtureProfile& files, Tolerance tolerance) KILN_REQUIRES(mutex_);
  Scratch scratch() const;

  const std::shared_ptr<const LoadedArtifact> artifact_;
  const std::unique_ptr<ThreadPool> pool_;
  const Arena arena_;
  const bool runBeforeReady_;
  const std::string path_;
  std::atomic<bool> ready_{false};

  mutable Mutex mutex_;
  std::vector<Staged> stagedInputs_ KILN_GUARDED_BY(mutex_), stagedOutputs_ KILN_GUARDED_BY(mutex_);
  kiln_counters counters_ KILN_GUARDED_BY(mutex_) = {};
};

}  // namespace kiln::runtime
