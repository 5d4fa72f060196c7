// Attention as one kernel whose scores never exist all at once; layer normalisation and its kin as one
// kernel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;

std::string attention(int queries, int keys, const std::string& type, bool masked) {
  return fmt::format(
      R"(
func.func @main(%q: tensor<2x3x{0}x16x{2}>, %k: tensor<2x3x{1}x16x{2}>, %v: tensor<2x3x{1}x24x{2}>{3}) -> tensor<2x3x{0}x24x{2}> {{
  %0 = kiln.attention %q, %k, %v {4}scale 2.5e-1 : (tensor<2x3x{0}x16x{2}>, tensor<2x3x{1}x16x{2}>, tensor<2x3x{1}x24x{2}>{5}) -> tensor<2x3x{0}x24x{2}>
  return %0 : tensor<2x3x{0}x24x{2}>
}})",
      queries, keys, type, masked ? fmt::format(", %m: tensor<2x3x{}x{}x{}>", queries, keys, type) : "",
      masked ? "mask %m " : "", masked ? fmt::format(", tensor<2x3x{}x{}x{}>", queries, keys, type) : "");
}

TEST(Attention, MatchesTheReferenceInAnyShape) {
  for (const char* type : {"f32", "f64"})
    for (bool masked : {false, true})
      for (auto [queries, keys] : {std::pair{1, 1}, {1, 40}, {7, 13}, {64, 96}, {197, 197}}) {
        const std::string text = attention(queries, keys, type, masked);
        auto checked = checkText(text);
        EXPECT_TRUE(checked) << checked.error().message << "\n" << text;
      }
}

TEST(Attention, ScoresStayInTheScratchOfASlot) {
  auto checked = checkText(attention(1024, 512, "f32", false));
  ASSERT_TRUE(checked) << checked.error().message;
  // One kernel transposes the queries, one does the rest.
  EXPECT_NE(checked->ir.find("@kiln_k1"), std::string::npos);
  EXPECT_EQ(checked->ir.find("@kiln_k2"), std::string::npos) << checked->ir;
  EXPECT_LE(checked->arenaBytes, 2 * 3 * 1024 * 16 * 4u + 4096);
  EXPECT_LT(checked->scratchBytes, 1024 * 512 * 4u);
}

TEST(Attention, ARowThatIsMaskedEverywhereGivesZeros) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> q(2 * 3 * 8 * 16, 0.5f), k(2 * 3 * 8 * 16, 0.25f), v(2 * 3 * 8 * 24, 3.0f),
      m(2 * 3 * 8 * 8, 0.0f);
  for (int row = 0; row < 2 * 3 * 8; row += 2)
    for (int s = 0; s < 8; ++s) m[row * 8 + s] = -kInf;
  CheckOptions options;
  options.inputs = {HostTensor::of<float>(DType::kF32, {2, 3, 8, 16}, q),
                    HostTensor::of<float>(DType::kF32, {2, 3, 8, 16}, k),
                    HostTensor::of<float>(DType::kF32, {2, 3, 8, 24}, v),
                    HostTensor::of<float>(DType::kF32, {2, 3, 8, 8}, m)};
  auto checked = checkText(attention(8, 8, "f32", true), options);
  ASSERT_TRUE(checked) << checked.error().message;
  for (int row = 0; row < 2 * 3 * 8; ++row)
    EXPECT_EQ(checked->outputs[0].data<float>()[row * 24], row % 2 ? 3.0f : 0.0f) << row;
}

}  // namespace
}  // namespace kiln::testing
