// Convolution and pooling in one to three dimensions, padding, and counting.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

void check(const std::string& text, const CheckOptions& options = {}) {
  auto checked = checkText(text, options);
  EXPECT_TRUE(checked) << checked.error().message << "\n" << text;
}

TEST(Convolution, OneToThreeDimensions) {
  for (const char* type : {"f32", "f64", "i32", "i64"}) {
    check(fmt::format(R"(
func.func @main(%x: tensor<2x4x19x{0}>, %w: tensor<6x4x3x{0}>, %b: tensor<6x{0}>) -> tensor<2x6x10x{0}> {{
  %0 = kiln.conv %x, %w bias %b strides [2] pads [2, 3] dilations [2] group 1
    : (tensor<2x4x19x{0}>, tensor<6x4x3x{0}>, tensor<6x{0}>) -> tensor<2x6x10x{0}>
  return %0 : tensor<2x6x10x{0}>
}})",
                      type));
    check(fmt::format(R"(
func.func @main(%x: tensor<1x4x9x11x{0}>, %w: tensor<6x2x3x2x{0}>) -> tensor<1x6x4x11x{0}> {{
  %0 = kiln.conv %x, %w strides [2, 1] pads [0, 1, 0, 0] dilations [1, 1] group 2
    : (tensor<1x4x9x11x{0}>, tensor<6x2x3x2x{0}>) -> tensor<1x6x4x11x{0}>
  return %0 : tensor<1x6x4x11x{0}>
}})",
                      type));
    check(fmt::format(R"(
func.func @main(%x: tensor<2x4x5x6x7x{0}>, %w: tensor<8x2x2x3x3x{0}>, %b: tensor<8x{0}>) -> tensor<2x8x5x6x3x{0}> {{
  %0 = kiln.conv %x, %w bias %b strides [1, 1, 2] pads [0, 1, 0, 1, 1, 0] dilations [1, 1, 1] group 2
    : (tensor<2x4x5x6x7x{0}>, tensor<8x2x2x3x3x{0}>, tensor<8x{0}>) -> tensor<2x8x5x6x3x{0}>
  return %0 : tensor<2x8x5x6x3x{0}>
}})",
                      type));
  }
}

TEST(Pooling, OneToThreeDimensions) {
  for (const char* type : {"f32", "f64", "i32", "i64"})
    for (const char* kind : {"max", "sum", "average"}) {
      if (std::string(kind) == "average" && type[0] == 'i') continue;
      for (const char* counts : {"", "count_padding "}) {
        if (*counts && std::string(kind) != "average") continue;
        check(fmt::format(R"(
func.func @main(%x: tensor<2x3x17x{1}>, %y: tensor<2x3x9x10x{1}>, %z: tensor<1x2x5x6x7x{1}>) -> (tensor<2x3x9x{1}>, tensor<2x3x4x10x{1}>, tensor<1x2x4x6x3x{1}>) {{
  %0 = kiln.pool <{0}> %x kernel [3] strides [2] pads [1, 1] dilations [1] {2}: tensor<2x3x17x{1}> to tensor<2x3x9x{1}>
  %1 = kiln.pool <{0}> %y kernel [2, 3] strides [2, 1] pads [0, 1, 0, 1] dilations [2, 1] {2}: tensor<2x3x9x10x{1}> to tensor<2x3x4x10x{1}>
  %2 = kiln.pool <{0}> %z kernel [2, 3, 3] strides [1, 1, 2] pads [0, 1, 0, 0, 1, 0] dilations [1, 1, 1] {2}: tensor<1x2x5x6x7x{1}> to tensor<1x2x4x6x3x{1}>
  return %0, %1, %2 : tensor<2x3x9x{1}>, tensor<2x3x4x10x{1}>, tensor<1x2x4x6x3x{1}>
}})",
                          kind, type, counts));
      }
    }
}

TEST(Pad, EveryMode) {
  for (const char* type : {"f32", "f64", "i32", "i64", "i1"}) {
    check(fmt::format(R"(
func.func @main(%x: tensor<3x5x{0}>, %v: tensor<{0}>) -> (tensor<6x9x{0}>, tensor<9x14x{0}>) {{
  %0 = kiln.pad <constant> %x, %v low [1, 0] high [2, 4] interior [0, 0] : tensor<3x5x{0}>, tensor<{0}> to tensor<6x9x{0}>
  %1 = kiln.pad <constant> %x, %v low [0, 1] high [2, 0] interior [2, 2] : tensor<3x5x{0}>, tensor<{0}> to tensor<9x14x{0}>
  return %0, %1 : tensor<6x9x{0}>, tensor<9x14x{0}>
}})",
                      type));
    // Beyond one reflection or period.
    for (const char* mode : {"edge", "reflect", "wrap"})
      check(fmt::format(R"(
func.func @main(%x: tensor<3x1x4x{0}>, %v: tensor<{0}>) -> tensor<16x4x8x{0}> {{
  %0 = kiln.pad <{1}> %x, %v low [7, 1, 0] high [6, 2, 4] interior [0, 0, 0] : tensor<3x1x4x{0}>, tensor<{0}> to tensor<16x4x8x{0}>
  return %0 : tensor<16x4x8x{0}>
}})",
                        type, mode));
  }
}

TEST(Iota, CountsAlongAnAxis) {
  for (const char* type : {"f32", "f64", "i32", "i64"})
    check(fmt::format(R"(
func.func @main(%x: tensor<3x70x2x{0}>) -> (tensor<3x70x2x{0}>, tensor<3x70x2x{0}>) {{
  %0 = kiln.iota 1 : tensor<3x70x2x{0}>
  %1 = kiln.iota 0 : tensor<3x70x2x{0}>
  %2 = kiln.binary <add> %0, %x : tensor<3x70x2x{0}>
  return %1, %2 : tensor<3x70x2x{0}>, tensor<3x70x2x{0}>
}})",
                      type));
}

}  // namespace
}  // namespace kiln::testing
