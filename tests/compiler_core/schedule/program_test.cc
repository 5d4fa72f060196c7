#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

void expectNear(const std::vector<float>& actual, const std::vector<double>& expected,
                double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
}

struct MatmulShape {
  int m, n, k;
};
class Matmul : public ::testing::TestWithParam<MatmulShape> {};

TEST_P(Matmul, WithBiasAndReluMatchesTheDefinition) {
  const auto [m, n, k] = GetParam();
  auto program = compileText(fmt::format(R"(
func.func @main(%a: tensor<{0}x{2}xf32>) -> tensor<{0}x{1}xf32> {{
  %w = kiln.weight 0 : tensor<{2}x{1}xf32>
  %c = kiln.weight 1 : tensor<{1}xf32>
  %r = kiln.fused %a, %w, %c : (tensor<{0}x{2}xf32>, tensor<{2}x{1}xf32>, tensor<{1}xf32>) -> tensor<{0}x{1}xf32> {{
  ^bb0(%x: tensor<{0}x{2}xf32>, %y: tensor<{2}x{1}xf32>, %z: tensor<{1}xf32>):
    %0 = kiln.matmul %x, %y : (tensor<{0}x{2}xf32>, tensor<{2}x{1}xf32>) -> tensor<{0}x{1}xf32>
    %1 = kiln.broadcast %z : tensor<{1}xf32> to tensor<{0}x{1}xf32>
    %2 = kiln.binary <add> %0, %1 : tensor<{0}x{1}xf32>
    %3 = kiln.unary <relu> %2 : tensor<{0}x{1}xf32>
    kiln.yield %3 : tensor<{0}x{1}xf32>
  }}
  return %r : tensor<{0}x{1}xf32>
}})",
                                         m, n, k));
  ASSERT_TRUE(program) << program.error().message;
  const auto a = randomValues(m * k, 1), w = randomValues(k * n, 2), c = randomValues(n, 3);
  auto out = program->run({w, c}, {a});
  ASSERT_TRUE(out) << out.error().message;
  std::vector<double> expected;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = c[j];
      for (int l = 0; l < k; ++l) sum += double(a[i * k + l]) * w[l * n + j];
      expected.push_back(std::max(sum, 0.0));
    }
  expectNear((*out)[0], expected, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Matmul,
                         ::testing::Values(MatmulShape{64, 128, 64}, MatmulShape{1, 10, 256},
                                           MatmulShape{13, 37, 5}, MatmulShape{200, 300, 700},
                                           MatmulShape{7, 1, 3}, MatmulShape{96, 512, 33}),
                         [](const auto& info) {
                           return fmt::format("{}x{}x{}", info.param.m, info.param.n, info.param.k);
                         });

}  // namespace
}  // namespace kiln::testing
