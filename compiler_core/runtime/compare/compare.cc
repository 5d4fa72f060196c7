#include "compiler_core/runtime/compare/compare.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "manifest/artifact/small_float.h"

namespace kiln::runtime {
namespace {

template <class T>
T load(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// long double holds every 64-bit integer.
long double element(DType dtype, const std::uint8_t* at) {
  switch (dtype) {
    case DType::kF32:
      return load<float>(at);
    case DType::kF64:
      return load<double>(at);
    case DType::kF16:
    case DType::kBF16:
      return decodeFloat(*floatFormat(dtype), load<std::uint16_t>(at));
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0FNU:
    case DType::kF4E2M1FN:
      return decodeFloat(*floatFormat(dtype), *at);
    case DType::kI2:
    case DType::kI4:
    case DType::kI8:
      return load<std::int8_t>(at);
    case DType::kI16:
      return load<std::int16_t>(at);
    case DType::kI32:
      return load<std::int32_t>(at);
    case DType::kI64:
      return load<std::int64_t>(at);
    case DType::kU8:
    case DType::kBool:
    case DType::kU2:
    case DType::kU4:
      return load<std::uint8_t>(at);
    case DType::kU16:
      return load<std::uint16_t>(at);
    case DType::kU32:
      return load<std::uint32_t>(at);
    case DType::kU64:
      return load<std::uint64_t>(at);
  }
  return 0;
}

}  // namespace

std::string Comparison::text() const {
  char buffer[200];
  std::snprintf(buffer, sizeof buffer, "%llu of %llu elements differ; worst at %llu: got %.9g, expected %.9g",
                static_cast<unsigned long long>(mismatches), static_cast<unsigned long long>(elements),
                static_cast<unsigned long long>(worstIndex), got, expected);
  return buffer;
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
  long double worst = -1;
  bool worstMismatches = false;
  for (std::uint64_t i = 0; i < result.elements; ++i) {
    const long double g = element(dtype, got.data() + i * size),
                      e = element(dtype, expected.data() + i * size);
    long double error = 0;
    bool match = true;
    if (std::isfinite(g) && std::isfinite(e)) {
      error = std::fabs(g - e);
      match = error <= tolerance.absolute + tolerance.relative * std::fabs(e);
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
  return result;
}

}  // namespace kiln::runtime
