// The checks at a program's entry: names, element types, shapes, pinned values, buffers.
#pragma once

#include <span>
#include <vector>

#include "compiler_core/runtime/kiln_runtime.h"
#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

// A call's tensors in the manifest's order.
struct BoundTensors {
  std::vector<const kiln_tensor*> inputs, outputs;
};

// kOutOfRange for a shape or pinned value that the program was not compiled for, kInvalidArgument for
// anything else; messages name the tensor, what is expected and what was given.
Result<BoundTensors> bind(const Manifest& manifest, std::span<const kiln_tensor> inputs,
                          std::span<const kiln_tensor> outputs);

// dtypeBytes times the product of the shape. The manifest's sizes were checked when the artifact was loaded.
std::uint64_t tensorBytes(const TensorInfo& tensor);

// kDataLoss if a tensor of the manifest is too large for this machine.
Status checkTensorSizes(const Manifest& manifest);

}  // namespace kiln::runtime
