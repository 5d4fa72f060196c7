// What holds for a tensor of any format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler_core/frontend/parameters/formats.h"

namespace kiln::parameters {

// `tensor "name"`, for messages.
std::string tensorPlace(std::string_view name);

// The bytes of so many elements; kInvalidArgument for too many dimensions, a negative one, and products
// beyond 64 bits.
Result<std::uint64_t> bytesOf(DType dtype, const std::vector<std::int64_t>& shape);

// Names (length, UTF-8, no two equal), the number of tensors, and elements of types that do not use all of
// their codes. `bytes` has been held against the shape already.
Status checkTensors(const Tensors& tensors);

}  // namespace kiln::parameters
