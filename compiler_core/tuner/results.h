// The results of one program of a kernel, to compare those of others with.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler_core/tuner/kernel.h"

namespace kiln::tuner {

class Results {
 public:
  // `places`: one per tensor, each of its bytes. Copied.
  Results(const std::vector<KernelTensor>& tensors, const std::vector<void*>& places);

  // How far the same tensors at `places` are from these: the most of |there - here| over the largest |here|
  // of the tensor, 0 where all bits are the same. infinity: bits differ in a tensor of anything but f32 and
  // f64, or where either is not finite.
  double distanceOf(const std::vector<void*>& places) const;

 private:
  std::vector<KernelTensor> tensors_;
  std::vector<std::vector<std::uint8_t>> bytes_;
};

}  // namespace kiln::tuner
