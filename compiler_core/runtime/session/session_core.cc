#include "compiler_core/runtime/session/session_core.h"

#include <sched.h>

#include <cstring>

#include "compiler_core/runtime/parallel/fp_state.h"

namespace kiln::runtime {
namespace {

constexpr unsigned kMaxThreads = 1024;

// Processors this process may use.
unsigned usableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1u, static_cast<unsigned>(CPU_COUNT(&set)));
}

// The scratch of one slot, rounded up so that every slot is aligned.
std::uint64_t scratchStride(const Manifest& manifest) {
  return (manifest.scratchBytes + KILN_ALIGNMENT - 1) / KILN_ALIGNMENT * KILN_ALIGNMENT;
}
std::uint64_t planBytes(const Manifest& manifest) {
  return (manifest.arenaBytes + KILN_ALIGNMENT - 1) / KILN_ALIGNMENT * KILN_ALIGNMENT;
}

Result<Arena> allocateArena(const Manifest& manifest, unsigned threads) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 56;  // nothing overflows below
  if (manifest.arenaBytes > kMost || manifest.scratchBytes > kMost / kMaxThreads) {
    return fail(Code::kResourceExhausted, "the program plans " + std::to_string(manifest.arenaBytes) +
                                              " bytes and " + std::to_string(manifest.scratchBytes) +
                                              " per thread; no machine has that much");
  }
  return Arena::allocate(planBytes(manifest) + threads * scratchStride(manifest), "the program's arena");
}

std::string pathText(const CompileSpec& spec) {
  std::string text = spec.target + " profile";
  for (const ShapeProfile& profile : spec.profiles) text += " " + profile.name;
  return text;
}

std::uint64_t count(std::chrono::steady_clock::duration time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// What callbacks.user points to during a call.
struct Call {
  ThreadPool* pool;
  Scratch scratch;
};

void parallelFor(void* user, kiln_kernel kernel, void* env, std::int64_t tasks) {
  const Call& call = *static_cast<const Call*>(user);
  call.pool->run(kernel, env, tasks, call.scratch);
}

kiln_tensor tensorOf(const TensorInfo& info, const npy::Tensor& tensor) {
  return {info.name.c_str(),
          dtypeName(tensor.dtype).data(),
          tensor.shape.data(),
          tensor.shape.size(),
          const_cast<std::uint8_t*>(tensor.data.data()),
          tensor.data.size()};
}

}  // namespace

Result<std::unique_ptr<SessionCore>> SessionCore::open(std::shared_ptr<const LoadedArtifact> artifact,
                                                       const kiln_session_options& options) {
  const unsigned threads = options.threads == 0 ? std::min(usableProcessors(), kMaxThreads) : options.threads;
  if (threads > kMaxThreads) return fail(Code::kInvalidArgument, "more than 1024 threads");
  KILN_ASSIGN(Arena arena, allocateArena(artifact->manifest, threads));
  KILN_ASSIGN(auto pool, ThreadPool::start(threads));
  return std::unique_ptr<SessionCore>(
      new SessionCore(std::move(artifact), std::move(pool), std::move(arena), options.run_before_ready != 0));
}

SessionCore::SessionCore(std::shared_ptr<const LoadedArtifact> artifact, std::unique_ptr<ThreadPool> pool,
                         Arena arena, bool runBeforeReady)
    : artifact_(std::move(artifact)),
      pool_(std::move(pool)),
      arena_(std::move(arena)),
      runBeforeReady_(runBeforeReady),
      path_(pathText(artifact_->manifest.spec)),
      stagedInputs_(artifact_->manifest.inputs.size()),
      stagedOutputs_(artifact_->manifest.outputs.size()) {
  counters_.planned_bytes = arena_.bytes();
  counters_.weight_bytes = artifact_->weights.bytes();
  counters_.load_nanoseconds = count(artifact_->loadTime);
  counters_.threads = pool_->threads();
  counters_.path = path_.c_str();
}

Scratch SessionCore::scratch() const {
  const Manifest& manifest = artifact_->manifest;
  if (manifest.scratchBytes == 0) return {};
  return {arena_.data() + planBytes(manifest), scratchStride(manifest)};
}

Result<void*> SessionCore::stage(const kiln_tensor& tensor, Staged& staged) {
  if (tensor.bytes != 0 && reinterpret_cast<std::uintptr_t>(tensor.data) % KILN_ALIGNMENT == 0)
    return tensor.data;
  if (staged.copy.data() == nullptr) {
    KILN_ASSIGN(staged.copy,
                Arena::allocate(std::max<std::uint64_t>(tensor.bytes, 1), "an aligned copy of a tensor"));
  }
  counters_.copied_bytes += tensor.bytes;
  return static_cast<void*>(staged.copy.data());
}

Status SessionCore::call(const std::vector<void*>& inputs, const std::vector<void*>& outputs) {
  Call user{pool_.get(), scratch()};
  const kiln_callbacks callbacks{&parallelFor, &user};
  alignas(KILN_ALIGNMENT) std::byte none[KILN_ALIGNMENT];
  void* const arena = arena_.data() != nullptr ? arena_.data() : none;
  std::int32_t status = 0;
  {
    const FpScope state;
    status = artifact_->program->table().run(&callbacks, arena, artifact_->weights.pointers(),
                                             const_cast<const void* const*>(inputs.data()), outputs.data());
  }
  if (status == 0) return {};
  return fail(Code::kInternal, "the program ended with status " + std::to_string(status) +
                                   "; the artifact's manifest says what it means (stages.codegen)");
}

Status SessionCore::runLocked(std::span<const kiln_tensor> inputs, std::span<const kiln_tensor> outputs) {
  KILN_ASSIGN(const BoundTensors bound, bind(artifact_->manifest, inputs, outputs));
  std::vector<void*> in, out;
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    const kiln_tensor& tensor = *bound.inputs[i];
    KILN_ASSIGN(void* const data, stage(tensor, stagedInputs_[i]));
    if (data != tensor.data && tensor.bytes != 0) std::memcpy(data, tensor.data, tensor.bytes);
    in.push_back(data);
  }
  for (std::size_t i = 0; i < bound.outputs.size(); ++i) {
    KILN_ASSIGN(void* const data, stage(*bound.outputs[i], stagedOutputs_[i]));
    out.push_back(data);
  }
  KILN_TRY(call(in, out));
  for (std::size_t i = 0; i < bound.outputs.size(); ++i) {
    const kiln_tensor& tensor = *bound.outputs[i];
    if (out[i] != tensor.data && tensor.bytes != 0) std::memcpy(tensor.data, out[i], tensor.bytes);
  }
  return {};
}

Status SessionCore::run(std::span<const kiln_tensor> inputs, std::span<const kiln_tensor> outputs) {
  const MutexLock lock(mutex_);
  if (!ready() && !runBeforeReady_) {
    return fail(Code::kFailedPrecondition,
                "the session is not ready: call warmup first, or open it with run_before_ready");
  }
  const auto start = std::chrono::steady_clock::now();
  const Status status = runLocked(inputs, outputs);
  if (!status) {
    ++counters_.failed_runs;
    if (status.error().code == Code::kOutOfRange) ++counters_.guard_failures;
    return status;
  }
  if (counters_.runs++ == 0)
    counters_.first_run_nanoseconds = count(std::chrono::steady_clock::now() - start);
  return {};
}

Status SessionCore::warmProfile(const FixtureProfile& files, Tolerance tolerance) {
  const Manifest& manifest = artifact_->manifest;
  std::vector<npy::Tensor> in, expected, got;
  std::vector<kiln_tensor> inputs, outputs;
  for (const std::string& path : files.inputs) {
    KILN_ASSIGN(npy::Tensor tensor, readFixture(artifact_->directory, path));
    in.push_back(std::move(tensor));
  }
  for (std::size_t i = 0; i < files.outputs.size(); ++i) {
    KILN_ASSIGN(npy::Tensor tensor, readFixture(artifact_->directory, files.outputs[i]));
    got.push_back({tensor.dtype, tensor.shape, std::vector<std::uint8_t>(tensor.data.size())});
    expected.push_back(std::move(tensor));
  }
  for (std::size_t i = 0; i < in.size(); ++i) inputs.push_back(tensorOf(manifest.inputs[i], in[i]));
  for (std::size_t i = 0; i < got.size(); ++i) outputs.push_back(tensorOf(manifest.outputs[i], got[i]));
  if (const Status ran = runLocked(inputs, outputs); !ran) {
    // A fixture that does not fit its own program is the artifact's fault, not the caller's.
    const bool callers = ran.error().code == Code::kInvalidArgument || ran.error().code == Code::kOutOfRange;
    return fail(callers ? Code::kDataLoss : ran.error().code, ran.error().message);
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    KILN_ASSIGN(const Comparison comparison, compare(got[i].dtype, got[i].data, expected[i].data, tolerance));
    if (!comparison.passed()) {
      return fail(Code::kAborted, "output \"" + manifest.outputs[i].name + "\" differs from " +
                                      files.outputs[i] + ": " + comparison.text() +
                                      "; the artifact must not be used on this machine");
    }
  }
  return {};
}

Status SessionCore::warmup() {
  const MutexLock lock(mutex_);
  ready_.store(false, std::memory_order_release);
  const auto start = std::chrono::steady_clock::now();
  KILN_ASSIGN(const FixtureList list, readFixtureList(artifact_->directory, artifact_->manifest));
  const Tolerance tolerance{list.relativeTolerance, list.absoluteTolerance};
  for (const FixtureProfile& files : list.profiles) {
    if (const Status warm = warmProfile(files, tolerance); !warm) {
      return fail(warm.error().in("warmup of profile \"" + files.name + "\""));
    }
  }
  counters_.warmup_nanoseconds = count(std::chrono::steady_clock::now() - start);
  ready_.store(true, std::memory_order_release);
  return {};
}

kiln_counters SessionCore::counters() const {
  const MutexLock lock(mutex_);
  kiln_counters counters = counters_;
  counters.observed_peak_bytes = std::min(arena_.residentBytes(), arena_.bytes());
  return counters;
}

}  // namespace kiln::runtime
