#include "compiler_core/driver/commands/fixture_tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler_core/runtime/element/element.h"
#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"

namespace kiln::driver {
namespace {

using reference::HostTensor;

struct Relative {
  const char* text;
  double value;
};
// Types of fewer bits than f32 may be off by about four steps of the type.
constexpr Relative kF32{"1e-3", 1e-3}, kF16{"4e-3", 4e-3}, kTf32 = kF16, kBF16{"3e-2", 3e-2};
// For sums in another order: what is left of larger terms is as far off as those are.
constexpr Relative kReassociated = kF32;
// Where a sum lies between two codes, rounding may end at the other one.
constexpr Relative kInt8{"1e-1", 1e-1};
constexpr double kAbsolute = 1e-5;

bool holdsFloats(DType dtype) {
  return runtime::epsilon(dtype) != 0;
}

// Takes the finite elements alone.
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

// The tolerance of the coarsest type.
const Relative& relativeOf(const ReferenceResult& result, const Numerics& numerics) {
  if (result.coarsest == DType::kBF16) return kBF16;
  if (result.coarsest == DType::kF16) return kF16;
  if (numerics.precision == "int8" && result.hasBytes) return kInt8;
  if (numerics.precision == "tf32") return kTf32;
  return numerics.reassociation == "off" ? kF32 : kReassociated;
}

}  // namespace

Numerics appliedNumerics(const CompileSpec& spec) {
  Numerics numerics = spec.numerics;
  const bool onDeviceAlone = std::ranges::all_of(targetNames(spec.target),
                                                 [](const std::string& name) { return wantsDevice(name); });
  if (onDeviceAlone && spec.fallback != "cpu") numerics.reassociation = "off";
  return numerics;
}

Noise noiseOf(const ReferenceResult& result, const Numerics& numerics, const HostTensor& tensor) {
  const Relative& relative = relativeOf(result, numerics);
  if (&relative == &kF32 || !holdsFloats(tensor.dtype)) return {};
  return {relative.value, relative.value * rootMeanSquare(tensor)};
}

FixtureTolerance toleranceOf(const ReferenceResult& result, const Numerics& numerics) {
  const Relative& relative = relativeOf(result, numerics);
  FixtureTolerance tolerance{relative.text, {}};
  if (&relative == &kF32) return tolerance;
  for (const HostTensor& output : result.outputValues) {
    const double noise = noiseOf(result, numerics, output).absolute;
    tolerance.absolute.push_back(noise > kAbsolute ? fmt::format("{:.1e}", noise) : kAbsoluteTolerance);
  }
  return tolerance;
}

}  // namespace kiln::driver
