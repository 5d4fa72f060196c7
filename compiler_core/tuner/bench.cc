#include "compiler_core/tuner/bench.h"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "compiler_core/runtime/program_abi.h"

namespace kiln::tuner {
namespace {

constexpr std::uint64_t kSampleNanoseconds = 200'000;  // at least
constexpr std::uint64_t kMaxRuns = 10'000;             // of one sample

std::uint64_t now(unsigned threads) {
  timespec time{};
  ::clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// What another schedule's results were must not be found in what this one leaves unwritten.
void poison(void* memory, std::size_t bytes) {
  std::memset(memory, 0xFF, bytes);
}

std::uint64_t medianOf(std::vector<std::uint64_t> values) {
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

struct Caller {
  runtime::ThreadPool& pool;
  runtime::Scratch scratch;
  static void parallelFor(void* user, kiln_kernel kernel, void* env, std::int64_t tasks) {
    auto& self = *static_cast<Caller*>(user);
    self.pool.run(kernel, env, tasks, self.scratch);
  }
};

// Each thread of a pool takes one task and keeps it until all have one.
struct Binding {
  std::vector<int> processors;
  std::atomic<unsigned> arrived{0};
  std::atomic<bool> failed{false};

  static void bind(void* env, std::int64_t task, void*) {
    auto& self = *static_cast<Binding*>(env);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(self.processors[static_cast<std::size_t>(task)], &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) self.failed = true;
    ++self.arrived;
    while (self.arrived < self.processors.size()) ::sched_yield();
  }
};

}  // namespace

Timing timingOf(std::vector<std::uint64_t> samples) {
  Timing timing;
  timing.samples = static_cast<std::uint32_t>(samples.size());
  timing.medianNanoseconds = std::max<std::uint64_t>(1, medianOf(samples));
  for (std::uint64_t& sample : samples)
    sample = sample > timing.medianNanoseconds ? sample - timing.medianNanoseconds
                                               : timing.medianNanoseconds - sample;
  timing.spreadNanoseconds = medianOf(std::move(samples));
  return timing;
}

struct Bench::Affinity {
  cpu_set_t processors;
};

Result<std::vector<int>> processorsFor(unsigned threads) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return fail(errnoError(errno, "the processors of this process"));
  std::vector<int> processors;
  for (int cpu = 0; cpu < CPU_SETSIZE && processors.size() < threads; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) processors.push_back(cpu);
  if (processors.size() < threads || threads == 0)
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} threads are wanted, this process may use {} processors", threads, processors.size()));
  return processors;
}

Result<std::unique_ptr<Bench>> Bench::open(const std::vector<int>& processors) {
  std::unique_ptr<Bench> bench(new Bench());
  auto before = std::make_unique<Affinity>();
  if (::sched_getaffinity(0, sizeof before->processors, &before->processors) != 0)
    return fail(errnoError(errno, "the processors of this process"));
  Binding binding;
  binding.processors = processors;
  const auto threads = static_cast<unsigned>(processors.size());
  bench->before_ = std::move(before);
  KILN_ASSIGN(bench->pool_, runtime::ThreadPool::start(threads));
  if (threads == 1)
    Binding::bind(&binding, 0, nullptr);
  else
    bench->pool_->run(&Binding::bind, &binding, threads, {});
  if (binding.failed) return fail(Code::kInternal, "a thread cannot be bound to its processor");
  return bench;
}

Bench::~Bench() {
  if (before_) ::sched_setaffinity(0, sizeof before_->processors, &before_->processors);
}

Result<KernelRun> KernelRun::load(const KernelProgram& program, const std::vector<KernelTensor>& outputs,
                                  unsigned threads) {
  KILN_ASSIGN(runtime::MappedElf elf,
              runtime::MappedElf::map(asBytes(program.elf), KILN_PROGRAM_SYMBOL, sizeof(kiln_program)));
  KernelRun run(std::move(elf));
  run.wanted_ = program.weights;
  run.stride_ = (program.scratchBytes + KILN_ALIGNMENT - 1) / KILN_ALIGNMENT * KILN_ALIGNMENT;
  KILN_ASSIGN(run.arena_, allocate(program.arenaBytes));
  KILN_ASSIGN(run.scratch_, allocate(run.stride_ * threads));
  poison(run.arena_.get(), program.arenaBytes);
  poison(run.scratch_.get(), run.stride_ * threads);
  for (const KernelTensor& output : outputs) {
    KILN_ASSIGN(Memory memory, allocate(output.bytes()));
    poison(memory.get(), output.bytes());
    run.outputPointers_.push_back(memory.get());
    run.outputs_.push_back(std::move(memory));
  }
  const auto& table = *static_cast<const kiln_program*>(run.elf_.symbol());
  run.dims_.resize(table.output_dim_count);
  return run;
}

Status KernelRun::run(Bench& bench, KernelInputs& inputs, std::size_t copy) {
  if (weights_.empty()) {
    KILN_ASSIGN(weights_, inputs.weights(wanted_));
  }
  const auto& table = *static_cast<const kiln_program*>(elf_.symbol());
  Caller caller{bench.pool(), {static_cast<std::byte*>(scratch_.get()), stride_}};
  const kiln_callbacks callbacks = {&Caller::parallelFor, &caller, nullptr, nullptr, nullptr, nullptr};
  const std::int32_t status =
      table.profiles[0].run(&callbacks, arena_.get(), weights_[copy % weights_.size()].data(),
                            inputs.inputs(copy).data(), outputPointers_.data(), nullptr, dims_.data());
  if (status != KILN_RUN_OK) return fail(Code::kInternal, fmt::format("the kernel returned {}", status));
  return {};
}

Result<std::uint64_t> KernelRun::sample(Bench& bench, KernelInputs& inputs) {
  const auto time = [&](std::uint64_t runs) -> Result<std::uint64_t> {
    const std::uint64_t start = now(bench.threads());
    for (std::uint64_t i = 0; i < runs; ++i) KILN_TRY(run(bench, inputs, runs_++));
    return now(bench.threads()) - start;
  };
  if (perSample_ == 0) {
    KILN_ASSIGN(const std::uint64_t first, time(1));
    perSample_ =
        std::clamp<std::uint64_t>(kSampleNanoseconds / std::max<std::uint64_t>(1, first), 1, kMaxRuns);
  }
  KILN_ASSIGN(const std::uint64_t taken, time(perSample_));
  return taken / perSample_;
}

}  // namespace kiln::tuner
