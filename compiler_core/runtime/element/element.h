// Single elements of tensors as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "manifest/artifact/dtype.h"
#include "manifest/base/digest.h"

namespace kiln::runtime {

// The number that the element at `at` stands for; long double holds every 64-bit integer. `at` needs no
// alignment.
long double elementValue(DType dtype, const std::uint8_t* at);

// Integers and bool.
bool holdsIntegers(DType dtype);

// The distance between 1 and the next larger number of a floating-point type; 0 for integers.
double epsilon(DType dtype);

// The index of the first element that is no code of its type: a bool that is neither 0 nor 1, a 2- or 4-bit
// element with other high bits than manifest/artifact/dtype.h states. Nothing if all are.
std::optional<std::size_t> firstInvalidElement(DType dtype, Bytes data);

}  // namespace kiln::runtime
