// Runs kernels on this machine and times them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/elf/elf_map.h"
#include "compiler_core/runtime/parallel/thread_pool.h"
#include "compiler_core/tuner/kernel_inputs.h"
#include "manifest/base/digest.h"

namespace kiln::tuner {

struct Timing {
  std::uint64_t medianNanoseconds = 0, spreadNanoseconds = 0;  // spread: median absolute deviation
  std::uint32_t samples = 0;
};
// `samples` are nanoseconds of single runs; at least one.
Timing timingOf(std::vector<std::uint64_t> samples);

// The first so many processors of those that this process may use. kInvalidArgument: there are fewer.
Result<std::vector<int>> processorsFor(unsigned threads);

// Threads that are each bound to a processor. One user at a time.
class Bench {
 public:
  // One thread for each of `processors`, at least one. kResourceExhausted: no threads. kInternal: a processor
  // that this process may not use.
  static Result<std::unique_ptr<Bench>> open(const std::vector<int>& processors);
  ~Bench();

  runtime::ThreadPool& pool() { return *pool_; }
  unsigned threads() const { return pool_->threads(); }

 private:
  Bench() = default;
  struct Affinity;
  std::unique_ptr<Affinity> before_;  // of the caller, put back at the end
  std::unique_ptr<runtime::ThreadPool> pool_;
};

// One schedule of a kernel, loaded.
class KernelRun {
 public:
  // Errors of MappedElf::map.
  static Result<KernelRun> load(const KernelProgram& program, const std::vector<KernelTensor>& outputs,
                                unsigned threads);

  // kInternal: the program says that it failed. Errors of KernelInputs::weights. The same inputs in every
  // run.
  Status run(Bench& bench, KernelInputs& inputs, std::size_t copy);
  // Where the results of the last run lie, one tensor after the other; as long as this.
  const std::vector<void*>& outputs() const { return outputPointers_; }
  // One sample: as many runs as make it long enough for the clock, in nanoseconds of one run. With one thread
  // the processor's time, so that others on the machine count for less; with several, the clock's.
  Result<std::uint64_t> sample(Bench& bench, KernelInputs& inputs);
  std::uint64_t runsPerSample() const { return perSample_; }

 private:
  explicit KernelRun(runtime::MappedElf elf) : elf_(std::move(elf)) {}
  runtime::MappedElf elf_;
  Memory arena_, scratch_;
  std::size_t stride_ = 0;
  std::vector<Memory> outputs_;
  std::vector<void*> outputPointers_;
  std::vector<std::int64_t> dims_;
  std::vector<KernelWeight> wanted_;
  std::vector<std::vector<const void*>> weights_;  // per copy of the inputs, once they are known
  std::size_t runs_ = 0;                           // so far: which copy of the inputs is next
  std::uint64_t perSample_ = 0;
};

}  // namespace kiln::tuner
