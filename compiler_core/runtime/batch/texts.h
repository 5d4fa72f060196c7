// Texts of callers as the numbers that a program computes with, by the manifest's table (Manifest::strings),
// and back.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/runtime/npy/npy.h"
#include "compiler_core/runtime/npy/text.h"

namespace kiln::runtime {

// Of type i64; -1 for a text that is not in `strings`, which are in the order of their bytes.
npy::Tensor numbersOf(const npy::TextArray& texts, const std::vector<std::string>& strings);

// kDataLoss for a number that is no place in `strings`; `tensor` is of type i64.
Result<npy::TextArray> textsOf(const npy::Tensor& tensor, const std::vector<std::string>& strings);

}  // namespace kiln::runtime
