// Running a session on named tensors, once or for each element of their leading axis.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/runtime/runtime.h"
#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

using Tensors = std::vector<NamedTensor>;

// A manifest's tensors as the runtime describes them.
std::vector<TensorSpec> specsOf(const std::vector<TensorInfo>& tensors);

// `inputs` holds each of `specs` once. With `each` one run per element, and the outputs are stacked.
// kInvalidArgument naming input, expected and given; else the session's errors.
Result<Tensors> runTensors(Session& session, const std::vector<TensorSpec>& specs, const Tensors& inputs,
                           bool each);

}  // namespace kiln::runtime
