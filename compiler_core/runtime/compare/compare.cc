#include "compiler_core/runtime/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "compiler_core/runtime/element/element.h"

namespace kiln::runtime {

std::string Comparison::text() const {
  char buffer[200];
  std::snprintf(buffer, sizeof buffer, "%llu of %llu elements differ; worst at %llu: got %.9g, expected %.9g",
                static_cast<unsigned long long>(mismatches), static_cast<unsigned long long>(elements),
                static_cast<unsigned long long>(worstIndex), got, expected);
  return buffer;
}

Tolerance toleranceFor(DType dtype, Tolerance stated) {
  if (dtypeBytes(dtype) < 4) stated.relative = std::max(stated.relative, epsilon(dtype));
  return stated;
}

Result<Comparison> compare(DType dtype, Bytes got, Bytes expected, Tolerance tolerance) {
  const std::size_t size = dtypeBytes(dtype);
  if (got.size() != expected.size() || got.size() % size != 0) {
    return fail(Code::kInvalidArgument, "cannot compare " + std::to_string(got.size()) + " with " +
                                            std::to_string(expected.size()) + " bytes of " +
                                            std::string(dtypeName(dtype)));
  }
  Comparison result;
  result.elements = got.size() / size;
  long double worst = -1, squaredErrors = 0, squaredValues = 0;
  bool worstMismatches = false;
  for (std::uint64_t i = 0; i < result.elements; ++i) {
    const long double g = elementValue(dtype, got.data() + i * size),
                      e = elementValue(dtype, expected.data() + i * size);
    long double error = 0;
    bool match = true;
    if (std::isfinite(g) && std::isfinite(e)) {
      error = std::fabs(g - e);
      match = error <= tolerance.absolute + tolerance.relative * std::fabs(e);
      squaredErrors += error * error;
      squaredValues += e * e;
      result.maxAbsolute = std::max(result.maxAbsolute, static_cast<double>(error));
      if (e != 0)
        result.maxRelative = std::max(result.maxRelative, static_cast<double>(error / std::fabs(e)));
    } else {
      match = (std::isnan(g) && std::isnan(e)) || g == e;
      error = match ? 0 : HUGE_VALL;
    }
    if (!match) ++result.mismatches;
    if ((!match && !worstMismatches) || (match != worstMismatches && error > worst)) {
      worst = error;
      worstMismatches = !match;
      result.worstIndex = i;
      result.got = static_cast<double>(g);
      result.expected = static_cast<double>(e);
    }
  }
  if (squaredErrors > 0) result.rmsRelative = static_cast<double>(std::sqrt(squaredErrors / squaredValues));
  return result;
}

}  // namespace kiln::runtime
