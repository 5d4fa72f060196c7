#include "compiler_core/driver/fixture_tolerance.h"

#include <fmt/format.h>

#include <cmath>

#include "compiler_core/runtime/element/element.h"

namespace kiln::driver {
namespace {

using reference::HostTensor;

struct Relative {
  const char* text;
  double value;
};
// Of 16 bits: about four steps of the type.
constexpr Relative kF32{"1e-3", 1e-3}, kF16{"4e-3", 4e-3}, kBF16{"3e-2", 3e-2};
constexpr double kAbsolute = 1e-5;

bool holdsFloats(DType dtype) {
  return runtime::epsilon(dtype) != 0;
}

// Of the finite elements.
double rootMeanSquare(const HostTensor& tensor) {
  const std::size_t width = dtypeBytes(tensor.dtype);
  double sum = 0, count = 0;
  for (std::size_t at = 0; at < tensor.bytes.size(); at += width) {
    const auto value = static_cast<double>(runtime::elementValue(tensor.dtype, tensor.bytes.data() + at));
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++count;
  }
  return count == 0 || !std::isfinite(sum) ? 0 : std::sqrt(sum / count);
}

}  // namespace

FixtureTolerance toleranceOf(const ReferenceResult& result) {
  const Relative* relative = &kF32;
  for (const auto* tensors : {&result.inputValues, &result.outputValues})
    for (const HostTensor& tensor : *tensors) {
      if (tensor.dtype == DType::kBF16) relative = &kBF16;
      if (tensor.dtype == DType::kF16 && relative != &kBF16) relative = &kF16;
    }
  FixtureTolerance tolerance{relative->text, {}};
  if (relative == &kF32) return tolerance;
  for (const HostTensor& output : result.outputValues) {
    const double noise = holdsFloats(output.dtype) ? relative->value * rootMeanSquare(output) : 0;
    tolerance.absolute.push_back(noise > kAbsolute ? fmt::format("{:.1e}", noise) : kAbsoluteTolerance);
  }
  return tolerance;
}

}  // namespace kiln::driver
