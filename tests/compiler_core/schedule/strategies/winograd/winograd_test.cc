// Convolutions by Winograd's tiles: every kind of tile, image, cut and epilogue, and where a schedule may not
// ask for them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "compiler_core/schedule/strategies/winograd/knobs.h"
#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

struct Convolution {
  int batch, channels, results, rows, columns;
  std::vector<std::int64_t> tile;  // of a task; empty: the default's
};

// A window of 3x3 over `channels`, with zeros around the image; then a bias, a sum with another image and a
// rectifier, or nothing.
std::string textOf(const Convolution& c, bool epilogue) {
  const std::string x = fmt::format("tensor<{}x{}x{}x{}xf32>", c.batch, c.channels, c.rows, c.columns),
                    w = fmt::format("tensor<{}x{}x3x3xf32>", c.results, c.channels),
                    b = fmt::format("tensor<{}xf32>", c.results),
                    y = fmt::format("tensor<{}x{}x{}x{}xf32>", c.batch, c.results, c.rows, c.columns);
  const std::string window = "strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1";
  if (!epilogue)
    return fmt::format(R"(
func.func @main(%x: {0}) -> {2} {{
  %w = kiln.weight 0 : {1}
  %0 = kiln.conv %x, %w {3} : ({0}, {1}) -> {2}
  return %0 : {2}
}})",
                       x, w, y, window);
  return fmt::format(R"(
func.func @main(%x: {0}, %r: {3}) -> {3} {{
  %w = kiln.weight 0 : {1}
  %b = kiln.weight 1 : {2}
  %0 = kiln.fused %x, %w, %b, %r : ({0}, {1}, {2}, {3}) -> {3} {{
  ^bb0(%i: {0}, %f: {1}, %c: {2}, %s: {3}):
    %1 = kiln.conv %i, %f bias %c {4} : ({0}, {1}, {2}) -> {3}
    %2 = kiln.binary <add> %1, %s : {3}
    %3 = kiln.unary <relu> %2 : {3}
    kiln.yield %3 : {3}
  }}
  return %0 : {3}
}})",
                     x, w, b, y, window);
}

// The convolution's results under its default schedule, but for what is given.
Result<Checked> checkUnder(const std::string& text, std::int64_t winograd,
                           const std::vector<std::int64_t>& tile) {
  CheckOptions options;
  options.stage = "planned";
  options.reassociation = schedule::Reassociation::kOn;
  options.absolute = 1e-3;  // of results of ten and more
  schedule::ScheduleOverrides given;
  options.onKernel = [&](const schedule::KernelFound& kernel) {
    if (kernel.site.shape.kind != schedule::KernelKind::kConvolution) return;
    Schedule schedule = kernel.standard;
    schedule::setNumber(schedule, schedule::kWinogradKnob, winograd);
    if (!tile.empty()) schedule::setList(schedule, schedule::kTileKnob, tile);
    given[kernel.signature] = {"convolution", schedule, ""};
  };
  KILN_TRY(checkText(text, options));
  options.given = &given;
  return checkText(text, options);
}

class WinogradTiles : public ::testing::TestWithParam<std::tuple<Convolution, int>> {};

// One tile, tiles that overlap, a batch; panels of one and of two registers, several panels, several
// registers of channels; tasks of some rows, of some columns, and of lines shorter than a register.
INSTANTIATE_TEST_SUITE_P(Convolutions, WinogradTiles,
                         ::testing::Combine(::testing::Values(Convolution{1, 16, 16, 4, 4, {}},
                                                              Convolution{2, 64, 16, 5, 5, {}},
                                                              Convolution{2, 16, 128, 7, 7, {}},
                                                              Convolution{1, 128, 64, 14, 14, {1, 32, 7, 14}},
                                                              Convolution{2, 16, 64, 28, 30, {2, 64, 14, 15}},
                                                              Convolution{1, 8, 24, 8, 10, {1, 24, 8, 5}},
                                                              Convolution{1, 512, 16, 8, 8, {}}),
                                            ::testing::Values(2, 4)),
                         [](const auto& info) {
                           const Convolution& c = std::get<0>(info.param);
                           return fmt::format("{}x{}x{}x{}to{}by{}", c.batch, c.channels, c.rows, c.columns,
                                              c.results, std::get<1>(info.param));
                         });

TEST_P(WinogradTiles, GivesTheReferencesResults) {
  const auto& [convolution, results] = GetParam();
  for (const bool epilogue : {false, true}) {
    const std::string text = textOf(convolution, epilogue);
    const auto checked = checkUnder(text, results, convolution.tile);
    ASSERT_TRUE(checked) << checked.error().message << "\n" << text;
    EXPECT_NE(checked->ir.find(fmt::format("kiln.winograd = {}", results)), std::string::npos) << checked->ir;
    const bool isFar = convolution.channels == 512 && results == 4;
    EXPECT_EQ(checked->ir.find("memref.prefetch") != std::string::npos, isFar) << checked->ir;
    // The plain weight is gone.
    EXPECT_EQ(checked->ir.find("kiln.source = 0", checked->ir.find("kiln.source = 0") + 1),
              std::string::npos);
    EXPECT_EQ(checked->ir.find("kiln.winograd", checked->ir.find("kiln.winograd") + 1), std::string::npos);
  }
}

// The default's own choice: the bits are those of its schedule at 1, 2 and 7 threads (checkText), and the
// same code comes of every compile.
TEST(Winograd, IsTheDefaultsWhereAnyFixedOrderWillDo) {
  const std::string text = textOf({1, 64, 64, 28, 28, {}}, true);
  const auto codeIn = [&](schedule::Reassociation order) {
    CheckOptions options;
    options.stage = "planned";
    options.reassociation = order;
    options.absolute = 1e-3;
    options.onKernel = [](const schedule::KernelFound&) {};
    return checkText(text, options);
  };
  const auto any = codeIn(schedule::Reassociation::kDeterministic),
             again = codeIn(schedule::Reassociation::kDeterministic),
             off = codeIn(schedule::Reassociation::kOff), on = codeIn(schedule::Reassociation::kOn);
  ASSERT_TRUE(any && again && off && on);
  EXPECT_NE(any->ir.find("kiln.winograd = 4"), std::string::npos);
  EXPECT_EQ(off->ir.find("kiln.winograd"), std::string::npos);
  EXPECT_EQ(on->ir.find("kiln.winograd"), std::string::npos);
  EXPECT_EQ(any->ir, again->ir);
  EXPECT_EQ(any->outputs, again->outputs);
  EXPECT_NE(any->outputs, off->outputs);
  EXPECT_EQ(on->outputs, off->outputs);
}

// What has other windows or steps, or channels that fill no register.
TEST(Winograd, IsOfNoOtherConvolution) {
  const auto takes = [](int channels, int results, int window, int stride, int group) {
    CheckOptions options;
    options.reassociation = schedule::Reassociation::kOn;
    std::optional<bool> found;
    options.onKernel = [&](const schedule::KernelFound& kernel) {
      if (kernel.site.shape.kind == schedule::KernelKind::kConvolution)
        found = kernel.standard.contains(schedule::kWinogradKnob);
    };
    const int out = (13 - window) / stride + 1;
    const std::string text = fmt::format(R"(
func.func @main(%x: tensor<1x{0}x13x13xf32>) -> tensor<1x{1}x{4}x{4}xf32> {{
  %w = kiln.weight 0 : tensor<{1}x{5}x{2}x{2}xf32>
  %0 = kiln.conv %x, %w strides [{3}, {3}] pads [0, 0, 0, 0] dilations [1, 1] group {6}
    : (tensor<1x{0}x13x13xf32>, tensor<{1}x{5}x{2}x{2}xf32>) -> tensor<1x{1}x{4}x{4}xf32>
  return %0 : tensor<1x{1}x{4}x{4}xf32>
}})",
                                         channels, results, window, stride, out, channels / group, group);
    const auto checked = checkText(text, options);
    EXPECT_TRUE(checked) << checked.error().message << "\n" << text;
    EXPECT_TRUE(found.has_value()) << text;
    return found.value_or(true);
  };
  EXPECT_TRUE(takes(16, 16, 3, 1, 1));
  EXPECT_FALSE(takes(16, 16, 5, 1, 1));
  EXPECT_FALSE(takes(16, 16, 3, 2, 1));
  EXPECT_FALSE(takes(16, 16, 3, 1, 2));
  EXPECT_FALSE(takes(12, 16, 3, 1, 1));
  EXPECT_FALSE(takes(16, 12, 3, 1, 1));
}

}  // namespace
}  // namespace kiln::testing
