// The checks at a program's entry: names, element types, shapes, pinned values, buffers; and the symbols that
// are read off the inputs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler_core/runtime/kiln_runtime.h"
#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

// A call's inputs in the manifest's order, and the value of each of its symbols.
struct BoundInputs {
  std::vector<const kiln_tensor*> tensors;
  std::vector<std::int64_t> symbols;
};

// Names, element types and shapes of the inputs, and the values that are symbols. kOutOfRange for a shape
// that the program was not compiled for, kInvalidArgument for anything else; messages name the tensor, what
// is expected and what was given. Whether a profile holds the symbols is profiles.h.
Result<BoundInputs> bindInputs(const Manifest& manifest, std::span<const kiln_tensor> inputs);

// The inputs' contents: buffer sizes, bools, pinned values. kOutOfRange for another value than the pinned.
Status checkContents(const Manifest& manifest, const BoundInputs& inputs);

// Names, element types and ranks of the outputs, in the manifest's order.
Result<std::vector<kiln_output*>> bindOutputs(const Manifest& manifest, std::span<kiln_output> outputs);

// No output may overlap another buffer of the call; each output's `bytes` is what will be written.
Status checkOverlap(const BoundInputs& inputs, const std::vector<kiln_output*>& outputs);

// dtypeBytes times the product of the shape; nothing if that is negative somewhere or beyond 2^62.
std::optional<std::uint64_t> tensorBytes(DType dtype, std::span<const std::int64_t> shape);

// "f32[8,256]".
std::string shapeText(std::string_view dtype, std::span<const std::int64_t> shape);

// kDataLoss if a fixed shape of the manifest is too large for this machine.
Status checkTensorSizes(const Manifest& manifest);

}  // namespace kiln::runtime
