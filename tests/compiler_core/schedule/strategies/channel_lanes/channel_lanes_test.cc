// Convolutions whose channels lie along the lanes: every window, remainder and epilogue, and what else may
// read the weight.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

void expectPanels(const std::string& text, int wanted) {
  CheckOptions options;
  options.stage = "planned";
  const auto checked = checkText(text, options);
  ASSERT_TRUE(checked) << checked.error().message << "\n" << text;
  EXPECT_EQ(count(checked->ir, "kiln.panels"), wanted) << text << checked->ir;
}

struct Window {
  int batch, channels, extent, results, kernel, stride, dilation, pad;
};
class ChannelLanes : public ::testing::TestWithParam<Window> {};

// Whole squares of positions and remainders of one and of several, panels of one and of two registers, more
// steps than one run, strides, dilations, a batch.
INSTANTIATE_TEST_SUITE_P(Windows, ChannelLanes,
                         ::testing::Values(Window{1, 40, 7, 64, 3, 1, 1, 1}, Window{1, 24, 8, 48, 1, 1, 1, 0},
                                           Window{1, 300, 5, 32, 1, 1, 1, 0},
                                           Window{2, 20, 9, 16, 3, 2, 1, 1},
                                           Window{1, 16, 14, 24, 3, 1, 2, 2},
                                           Window{1, 3, 15, 32, 7, 2, 1, 3}),
                         [](const auto& info) {
                           const Window& w = info.param;
                           return fmt::format("{}x{}x{}to{}kernel{}stride{}dilation{}", w.batch, w.channels,
                                              w.extent, w.results, w.kernel, w.stride, w.dilation);
                         });

TEST_P(ChannelLanes, GiveTheReferencesResults) {
  const auto [batch, channels, extent, results, kernel, stride, dilation, pad] = GetParam();
  const int out = (extent + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  const std::string x = fmt::format("tensor<{0}x{1}x{2}x{2}xf32>", batch, channels, extent),
                    w = fmt::format("tensor<{0}x{1}x{2}x{2}xf32>", results, channels, kernel),
                    b = fmt::format("tensor<{}xf32>", results),
                    y = fmt::format("tensor<{0}x{1}x{2}x{2}xf32>", batch, results, out);
  const std::string numbers = fmt::format(
      "strides [{0}, {0}] pads [{1}, {1}, {1}, {1}] dilations [{2}, {2}] group 1", stride, pad, dilation);
  expectPanels(fmt::format(R"(
func.func @main(%x: {0}, %r: {3}) -> {3} {{
  %w = kiln.weight 0 : {1}
  %b = kiln.weight 1 : {2}
  %0 = kiln.fused %x, %w, %b, %r : ({0}, {1}, {2}, {3}) -> {3} {{
  ^bb0(%i: {0}, %f: {1}, %c: {2}, %s: {3}):
    %1 = kiln.conv %i, %f bias %c {4} : ({0}, {1}, {2}) -> {3}
    %2 = kiln.binary <add> %1, %s : {3}
    %3 = kiln.unary <tanh> %2 : {3}
    kiln.yield %3 : {3}
  }}
  return %0 : {3}
}})",
                           x, w, b, y, numbers),
               1);
  expectPanels(fmt::format(R"(
func.func @main(%x: {0}) -> {2} {{
  %w = kiln.weight 0 : {1}
  %0 = kiln.conv %x, %w {3} : ({0}, {1}) -> {2}
  return %0 : {2}
}})",
                           x, w, y, numbers),
               1);
}

TEST(ChannelLanes, ThePlainWeightIsGoneWhereTasksHaveSomeOfTheChannels) {
  CheckOptions options;
  options.stage = "planned";
  const auto checked = checkText(R"(
func.func @main(%x: tensor<1x64x7x7xf32>) -> tensor<1x256x7x7xf32> {
  %w = kiln.weight 0 : tensor<256x64x3x3xf32>
  %0 = kiln.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1
    : (tensor<1x64x7x7xf32>, tensor<256x64x3x3xf32>) -> tensor<1x256x7x7xf32>
  return %0 : tensor<1x256x7x7xf32>
})",
                                 options);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_NE(checked->ir.find("loops = array<i64: 1, 256, 7, 7>"), std::string::npos);
  EXPECT_GT(count(checked->ir, "tile = array<i64: 1, 64, 7, 7>"), 0) << checked->ir;
  EXPECT_EQ(count(checked->ir, "kiln.panels"), 1) << checked->ir;
  EXPECT_EQ(count(checked->ir, "kiln.source = 0"), 1) << checked->ir;
}

TEST(ChannelLanes, AWeightIsAlsoThereAsItIsForWhatReadsItSo) {
  expectPanels(R"(
func.func @main(%x: tensor<1x32x7x7xf32>) -> (tensor<1x32x7x7xf32>, tensor<32x32x1x1xf32>) {
  %w = kiln.weight 0 : tensor<32x32x1x1xf32>
  %0 = kiln.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1
    : (tensor<1x32x7x7xf32>, tensor<32x32x1x1xf32>) -> tensor<1x32x7x7xf32>
  %1 = kiln.unary <tanh> %w : tensor<32x32x1x1xf32>
  return %0, %1 : tensor<1x32x7x7xf32>, tensor<32x32x1x1xf32>
})",
               1);
}

TEST(ChannelLanes, OneCopyServesTwoConvolutions) {
  expectPanels(R"(
func.func @main(%x: tensor<1x32x7x7xf32>) -> tensor<1x32x7x7xf32> {
  %w = kiln.weight 0 : tensor<32x32x1x1xf32>
  %0 = kiln.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1
    : (tensor<1x32x7x7xf32>, tensor<32x32x1x1xf32>) -> tensor<1x32x7x7xf32>
  %1 = kiln.conv %0, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1
    : (tensor<1x32x7x7xf32>, tensor<32x32x1x1xf32>) -> tensor<1x32x7x7xf32>
  return %1 : tensor<1x32x7x7xf32>
})",
               1);
}

}  // namespace
}  // namespace kiln::testing
