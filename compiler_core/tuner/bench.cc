#include "compiler_core/tuner/bench.h"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "compiler_core/package/panels.h"
#include "compiler_core/runtime/program_abi.h"

namespace kiln::tuner {
namespace {

constexpr std::uint64_t kSampleNanoseconds = 200'000;  // at least
constexpr std::uint64_t kMostRuns = 10'000;            // of one sample
// Copies of the inputs take as much as a core's own caches hold and more.
constexpr std::uint64_t kCopiesBytes = 4 << 20, kMostCopies = 8;

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

void* allocate(std::size_t bytes) {
  return std::aligned_alloc(KILN_ALIGNMENT, (bytes / KILN_ALIGNMENT + 1) * KILN_ALIGNMENT);
}

tl::unexpected<Error> noMemory(std::size_t bytes) {
  return fail(Code::kResourceExhausted, fmt::format("no memory for {} bytes of a kernel", bytes));
}

template <class T>
void fillWith(void* memory, std::uint64_t elements, const auto& next) {
  T* at = static_cast<T*>(memory);
  for (std::uint64_t i = 0; i < elements; ++i) at[i] = static_cast<T>(next());
}

void fillSeeded(void* memory, const KernelTensor& tensor, std::mt19937_64& random) {
  const auto real = [&] { return 0.25 + static_cast<double>(random() >> 11) * 0x1p-53 * 0.75; };
  switch (tensor.element) {
    case Element::kF32:
      return fillWith<float>(memory, tensor.elements, real);
    case Element::kF64:
      return fillWith<double>(memory, tensor.elements, real);
    case Element::kI16:
      // Codes of f16 from 1 to 2 and of bf16 from 1/128 to 1/2, and small integers.
      return fillWith<std::uint16_t>(memory, tensor.elements, [&] { return 0x3c00 + random() % 0x300; });
    case Element::kI1:
    case Element::kI8:
      return fillWith<std::uint8_t>(memory, tensor.elements, [&] { return random() % 2; });
    case Element::kI32:
    case Element::kI64:
      std::memset(memory, 0, tensor.bytes());
  }
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

Result<std::unique_ptr<Bench>> Bench::open(unsigned threads) {
  std::unique_ptr<Bench> bench(new Bench());
  auto before = std::make_unique<Affinity>();
  if (::sched_getaffinity(0, sizeof before->processors, &before->processors) != 0)
    return fail(errnoError(errno, "the processors of this process"));
  Binding binding;
  for (int cpu = 0; cpu < CPU_SETSIZE && binding.processors.size() < threads; ++cpu)
    if (CPU_ISSET(cpu, &before->processors)) binding.processors.push_back(cpu);
  if (binding.processors.size() < threads || threads == 0)
    return fail(Code::kInvalidArgument,
                fmt::format("{} threads are wanted, this process may use {} processors", threads,
                            binding.processors.size()));
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

Result<KernelInputs> KernelInputs::make(const KernelCompiler& kernel, std::uint64_t seed) {
  std::uint64_t bytes = 1;
  for (const auto* list : {&kernel.inputs(), &kernel.weights()})
    for (const KernelTensor& tensor : *list) bytes += tensor.bytes();
  const std::uint64_t copies = std::clamp<std::uint64_t>(kCopiesBytes / bytes, 1, kMostCopies);
  KernelInputs made;
  for (std::uint64_t copy = 0; copy < copies; ++copy) {
    std::mt19937_64 random(seed);  // the same in each
    const auto tensors = [&](const std::vector<KernelTensor>& list) -> Result<std::vector<const void*>> {
      std::vector<const void*> pointers;
      for (const KernelTensor& tensor : list) {
        void* memory = allocate(tensor.bytes());
        if (!memory) return noMemory(tensor.bytes());
        made.memory_.emplace_back(memory);
        fillSeeded(memory, tensor, random);
        pointers.push_back(memory);
      }
      return pointers;
    };
    KILN_ASSIGN(auto inputs, tensors(kernel.inputs()));
    KILN_ASSIGN(const auto weights, tensors(kernel.weights()));
    made.inputs_.push_back(std::move(inputs));
    for (std::size_t i = 0; i < weights.size(); ++i) made.weights_[{i, 0}].push_back(weights[i]);
  }
  made.weightTensors_ = kernel.weights();
  return made;
}

Result<std::vector<std::vector<const void*>>> KernelInputs::weights(const std::vector<KernelWeight>& wanted) {
  std::vector<std::vector<const void*>> all(copies());
  for (const KernelWeight& weight : wanted) {
    std::vector<const void*>& laidOut = weights_[weight];
    if (laidOut.empty()) {
      const KernelTensor& tensor = weightTensors_[weight.number];
      const Bytes plain(static_cast<const std::uint8_t*>(weights_[{weight.number, 0}][0]), tensor.bytes());
      KILN_ASSIGN(const auto bytes,
                  package::inPanels(
                      plain, {tensor.shape[0], tensor.shape[1], tensor.bytes() / tensor.elements},
                      weight.panelLanes));
      while (laidOut.size() < copies()) {
        void* memory = allocate(bytes.size());
        if (!memory) return noMemory(bytes.size());
        memory_.emplace_back(memory);
        std::memcpy(memory, bytes.data(), bytes.size());
        laidOut.push_back(memory);
      }
    }
    for (std::size_t copy = 0; copy < copies(); ++copy) all[copy].push_back(laidOut[copy]);
  }
  return all;
}

Result<KernelRun> KernelRun::load(const KernelProgram& program, const std::vector<KernelTensor>& outputs,
                                  unsigned threads) {
  KILN_ASSIGN(runtime::MappedElf elf,
              runtime::MappedElf::map(asBytes(program.elf), KILN_PROGRAM_SYMBOL, sizeof(kiln_program)));
  KernelRun run(std::move(elf));
  run.wanted_ = program.weights;
  run.stride_ = (program.scratchBytes + KILN_ALIGNMENT - 1) / KILN_ALIGNMENT * KILN_ALIGNMENT;
  run.arena_.reset(allocate(program.arenaBytes));
  run.scratch_.reset(allocate(run.stride_ * threads));
  if (!run.arena_ || !run.scratch_) return noMemory(program.arenaBytes + run.stride_ * threads);
  poison(run.arena_.get(), program.arenaBytes);
  poison(run.scratch_.get(), run.stride_ * threads);
  for (const KernelTensor& output : outputs) {
    run.outputs_.emplace_back(allocate(output.bytes()));
    if (!run.outputs_.back()) return noMemory(output.bytes());
    poison(run.outputs_.back().get(), output.bytes());
    run.outputBytes_.push_back(output.bytes());
    run.outputPointers_.push_back(run.outputs_.back().get());
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
      table.profiles[0].run(&callbacks, arena_.get(), weights_[copy % weights_.size()].data(), inputs.inputs(copy).data(),
                            outputPointers_.data(), nullptr, dims_.data());
  if (status != KILN_RUN_OK) return fail(Code::kInternal, fmt::format("the kernel returned {}", status));
  return {};
}

bool KernelRun::sameResults(const KernelRun& other) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (outputBytes_[i] != other.outputBytes_[i] ||
        std::memcmp(outputs_[i].get(), other.outputs_[i].get(), outputBytes_[i]) != 0)
      return false;
  return outputs_.size() == other.outputs_.size();
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
        std::clamp<std::uint64_t>(kSampleNanoseconds / std::max<std::uint64_t>(1, first), 1, kMostRuns);
  }
  KILN_ASSIGN(const std::uint64_t taken, time(perSample_));
  return taken / perSample_;
}

}  // namespace kiln::tuner
