// Artifacts around programs/dynamic.c, whose shapes differ between runs, for tests.
#pragma once

#include "tests/compiler_core/runtime/test_artifact.h"

namespace kiln::runtime::test {

inline constexpr std::int64_t kWidth = 4;

// Profiles: small with N from 0 to 8 and k[0] from 1 to 4, large with N from 16 to 64 and k[0] from 1 to 8.
class DynamicArtifact : public TestArtifact {
 public:
  explicit DynamicArtifact(const std::string& outOfProfile = "fail", bool found = false)
      : TestArtifact(found ? "dynamic_found" : "dynamic") {
    manifest.symbols = {{.name = "N", .input = "x", .pad = !found},
                        {.name = "k[0]", .input = "k", .element = true}};
    manifest.inputs = {{"x", DType::kF32, {"N", kWidth}, {}}, {"k", DType::kI64, {1}, {}}};
    manifest.outputs = {{"y", DType::kF32, {"N", "k[0]"}, {}},
                        {"half", DType::kF32, {"(N + 1) floordiv 2"}, {}},
                        {"total", DType::kF32, {}, {}}};
    if (found) manifest.outputs.push_back({"found", DType::kI64, {"? <= N"}, {}});
    manifest.spec.profiles = {{"small", {{"N", {0, 4, 8}}, {"k[0]", {1, 1, 4}}}},
                              {"large", {{"N", {16, 32, 64}}, {"k[0]", {1, 4, 8}}}}};
    manifest.spec.outOfProfile = outOfProfile;
    manifest.profiles = {{"small", 8 * kWidth * sizeof(float), kWidth * sizeof(float)},
                         {"large", 64 * kWidth * sizeof(float), kWidth * sizeof(float)}};
    manifest.weights.clear();
    writeManifest();
  }
};

inline npy::Tensor integers(std::vector<std::int64_t> shape, const std::vector<std::int64_t>& values) {
  npy::Tensor tensor{DType::kI64, std::move(shape), std::vector<std::uint8_t>(values.size() * 8)};
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

// x of `rows` rows: x[i][j] = i + j / 8, every third row negative.
inline std::vector<float> dynamicInput(std::int64_t rows) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < kWidth; ++j)
      x.push_back((i % 3 == 2 ? -1.0f : 1.0f) * (static_cast<float>(i + 1) + static_cast<float>(j) / 8));
  return x;
}

// What programs/dynamic.c computes of it.
struct DynamicOutputs {
  npy::Tensor y, half, total, found;
};
inline DynamicOutputs expectedOutputs(std::int64_t rows, std::int64_t k) {
  const auto x = dynamicInput(rows);
  std::vector<float> y, half;
  std::vector<std::int64_t> found;
  float total = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const float first = x[static_cast<std::size_t>(i * kWidth)];
    for (std::int64_t j = 0; j < k; ++j) y.push_back(first * static_cast<float>(j + 1));
    if (i % 2 == 0) half.push_back(x[static_cast<std::size_t>(i * kWidth + 1)]);
    if (first > 0) found.push_back(i);
  }
  for (const float value : x) total += value;
  const auto halves = static_cast<std::int64_t>(half.size()), count = static_cast<std::int64_t>(found.size());
  return {floats({rows, k}, y), floats({halves}, half), floats({}, {total}), integers({count}, found)};
}

}  // namespace kiln::runtime::test
