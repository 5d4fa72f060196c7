// The inputs of a measured kernel, from a seed: numbers that no operation of a model has to be afraid of
// (floats from 1/4 to 1, indices 0).
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "compiler_core/tuner/kernel.h"
#include "manifest/base/result.h"

namespace kiln::tuner {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeMemory>;

// Aligned as programs want it, at least one byte. kResourceExhausted.
Result<Memory> allocate(std::uint64_t bytes);

// Several copies, so that a run does not find in the nearest caches what the last one read.
class KernelInputs {
 public:
  // Makes copies of the weights up to `weightBytes`, as far as 64 copies reach, where that is more than of
  // the inputs. kResourceExhausted: no memory.
  static Result<KernelInputs> make(const KernelTensors& tensors, std::uint64_t seed,
                                   std::uint64_t weightBytes = 0);

  std::size_t copies() const { return inputs_.size(); }
  const std::vector<const void*>& inputs(std::size_t copy) const { return inputs_[copy % copies()]; }
  // Per copy of these, the weights as a program reads them; they live as long as this. kInvalidArgument: the
  // kernel has no such weight. kResourceExhausted: no memory.
  Result<std::vector<std::vector<const void*>>> weights(const std::vector<KernelWeight>& wanted);

 private:
  std::vector<Memory> memory_;
  std::vector<std::vector<const void*>> inputs_;
  std::size_t weightCopies_ = 0;
  std::vector<KernelTensor> weightTensors_;
  std::map<KernelWeight, std::vector<const void*>> weights_;  // per copy
};

}  // namespace kiln::tuner
