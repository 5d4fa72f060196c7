// Tensors of many runs in one .npy: cutting inputs into single runs, stacking outputs, reading off
// predictions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/runtime/npy/npy.h"
#include "compiler_core/runtime/runtime.h"
#include "manifest/base/result.h"

namespace kiln::runtime {

std::string describe(DType dtype, const std::vector<std::int64_t>& shape);  // "f32 [1,3,8,8]"
std::string describe(const TensorSpec& spec);                               // "f32 [N,3,H,W]"

// The input that "NAME=FILE" is for; null for none. Both may hold a '=', so the longest name that fits is
// meant.
const TensorSpec* givenInput(std::string_view argument, const std::vector<TensorSpec>& inputs);

// kInvalidArgument naming input, expected and given, unless `given` is one run's tensor. Whether a profile
// holds its sizes is the session's to say.
Status checkInput(const TensorSpec& expected, const npy::Tensor& given);

// How many runs `given` holds for --each: its leading axis either stands before the expected shape or takes
// the place of an expected leading 1 or symbol, which is 1 in each run. kInvalidArgument as checkInput.
Result<std::size_t> countEach(const TensorSpec& expected, const npy::Tensor& given);

// The i-th run's tensor, in the expected shape.
npy::Tensor elementOf(const TensorSpec& expected, const npy::Tensor& given, std::size_t i);

// Appends a run's output: along its own leading axis when that is 1, else along a new one in front. All
// `count` runs give the same type and shape; kInvalidArgument if the shapes differ.
Status stack(npy::Tensor& stacked, const npy::Tensor& one, std::size_t count);

// The index of the largest value in each row of the last axis. kUnimplemented for element types that are no
// numbers.
Result<std::vector<std::int64_t>> predictions(const npy::Tensor& output);

// An integer tensor as numbers. kInvalidArgument for other types.
Result<std::vector<std::int64_t>> labelsOf(const npy::Tensor& labels);

// Element i as a double; i is in range.
double valueAt(const npy::Tensor& tensor, std::size_t i);

}  // namespace kiln::runtime
