// The side that measures: runs programs that a search sends it. A process does nothing else meanwhile.
#pragma once

#include <functional>
#include <memory>

#include "compiler_core/tuner/messages.h"

namespace kiln::tuner {

// What runs programs of one kernel, by the numbers that they were loaded as. Not thread safe.
class Engine {
 public:
  virtual ~Engine() = default;
  // Loads a program, in the place of another one of that number, and runs it once. Where its results lie, one
  // tensor after the other, until the next call.
  virtual Result<std::vector<void*>> load(std::uint64_t id, const KernelProgram& program) = 0;
  // One sample of what is loaded, in nanoseconds of one run. kNotFound: nothing is.
  virtual Result<std::uint64_t> sample(std::uint64_t id) = 0;
  // `id` has been sampled.
  virtual std::uint64_t runsPerSample(std::uint64_t id) const = 0;
  virtual void unload(std::uint64_t id) = 0;
  // The device that is measured; none for a processor.
  virtual std::optional<MeasuredDevice> device() const { return std::nullopt; }
  // After an error: nothing runs in this process any more.
  virtual bool isSpent() const { return false; }
};

using OpenEngine = std::function<Result<std::unique_ptr<Engine>>(const MeasureSetup& setup)>;

// The processors of this machine. Errors of Bench::open and KernelInputs::make.
Result<std::unique_ptr<Engine>> openProcessors(const MeasureSetup& setup);

// Answers requests (messages.h) from `in` on `out` until the other side is gone, or the engine is spent.
void serveMeasurements(int in, int out, const OpenEngine& open);

}  // namespace kiln::tuner
