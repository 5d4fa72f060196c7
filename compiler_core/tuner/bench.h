// Runs kernels on this machine and times them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/elf/elf_map.h"
#include "compiler_core/runtime/parallel/thread_pool.h"
#include "compiler_core/tuner/kernel_compiler.h"

namespace kiln::tuner {

struct Timing {
  std::uint64_t medianNanoseconds = 0, spreadNanoseconds = 0;  // spread: median absolute deviation
  std::uint32_t samples = 0;
};
// Of nanoseconds of single runs; at least one.
Timing timingOf(std::vector<std::uint64_t> samples);

// Threads that are each bound to a processor of those that this process may use. One user at a time.
class Bench {
 public:
  // kInvalidArgument: more threads than processors. kResourceExhausted: no threads.
  static Result<std::unique_ptr<Bench>> open(unsigned threads);
  ~Bench();

  runtime::ThreadPool& pool() { return *pool_; }
  unsigned threads() const { return pool_->threads(); }

 private:
  Bench() = default;
  struct Affinity;
  std::unique_ptr<Affinity> before_;  // of the caller, put back at the end
  std::unique_ptr<runtime::ThreadPool> pool_;
};

// What a kernel reads, from a seed: numbers that no operation of a model has to be afraid of (floats from 1/4
// to 1, indices 0). Several copies, so that a run does not find in the nearest caches what the last one read.
class KernelInputs {
 public:
  // kResourceExhausted: no memory.
  static Result<KernelInputs> make(const KernelCompiler& kernel, std::uint64_t seed);

  std::size_t copies() const { return inputs_.size(); }
  const std::vector<const void*>& inputs(std::size_t copy) const { return inputs_[copy % copies()]; }
  // Per copy, the weights as a program reads them; they live as long as this. kResourceExhausted: no memory.
  Result<std::vector<std::vector<const void*>>> weights(const std::vector<KernelWeight>& wanted);

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<std::vector<const void*>> inputs_;
  std::vector<KernelTensor> weightTensors_;
  std::map<KernelWeight, std::vector<const void*>> weights_;  // per copy
};

// One schedule of a kernel, loaded.
class KernelRun {
 public:
  // Errors of MappedElf::map.
  static Result<KernelRun> load(const KernelProgram& program, const std::vector<KernelTensor>& outputs,
                                unsigned threads);

  // kInternal: the program says that it failed. kResourceExhausted: no memory. The same inputs in every run.
  Status run(Bench& bench, KernelInputs& inputs, std::size_t copy);
  // The results of the last run.
  bool sameResults(const KernelRun& other) const;
  // One sample: as many runs as make it long enough for the clock, in nanoseconds of one run. With one thread
  // the processor's time, so that others on the machine count for less; with several, the clock's.
  Result<std::uint64_t> sample(Bench& bench, KernelInputs& inputs);
  std::uint64_t runsPerSample() const { return perSample_; }

 private:
  explicit KernelRun(runtime::MappedElf elf) : elf_(std::move(elf)) {}
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<void, Free>;

  runtime::MappedElf elf_;
  Memory arena_, scratch_;
  std::size_t stride_ = 0;
  std::vector<Memory> outputs_;
  std::vector<std::size_t> outputBytes_;
  std::vector<void*> outputPointers_;
  std::vector<std::int64_t> dims_;
  std::vector<KernelWeight> wanted_;
  std::vector<std::vector<const void*>> weights_;  // per copy of the inputs, once they are known
  std::size_t runs_ = 0;  // so far: which copy of the inputs is next
  std::uint64_t perSample_ = 0;
};

}  // namespace kiln::tuner
