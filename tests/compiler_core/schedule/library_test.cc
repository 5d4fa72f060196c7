// Operations served by the kernel library, compiled and run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;

void check(const std::string& text, const CheckOptions& options = {}) {
  auto checked = checkText(text, options);
  EXPECT_TRUE(checked) << checked.error().message << "\n" << text;
}

constexpr const char* kNumbers[] = {"f32", "f64", "f16", "bf16", "i8",   "i16",
                                    "i32", "i64", "ui8", "ui16", "ui32", "ui64"};
// Those that are tried with every attribute.
constexpr const char* kSome[] = {"f32", "i64"};

TEST(Library, EveryElementType) {
  for (const char* type : kNumbers)
    check(fmt::format(R"(
func.func @main(%x: tensor<3x20x4x{0}>, %i: tensor<2xi64>, %u: tensor<2x20x4x{0}>) -> (tensor<3x20x4x{0}>, tensor<3x20x4xi64>, tensor<3x4xi64>, tensor<3x20x4x{0}>, tensor<3x20x4x{0}>, tensor<3x20x4x{0}>, tensor<3xi64>) {{
  %v, %at = kiln.sort %x axis 1 {{descending}} : tensor<3x20x4x{0}> to tensor<3x20x4x{0}>, tensor<3x20x4xi64>
  %a = kiln.arg_reduce <min> %x axis 1 : tensor<3x20x4x{0}> to tensor<3x4xi64>
  %c = kiln.cumulative <sum> %x axis 1 : tensor<3x20x4x{0}>
  %s = kiln.scatter <add> %x[%i], %u : (tensor<3x20x4x{0}>, tensor<2xi64>, tensor<2x20x4x{0}>) -> tensor<3x20x4x{0}>
  %t = kiln.scatter <max> %x[%i], %u : (tensor<3x20x4x{0}>, tensor<2xi64>, tensor<2x20x4x{0}>) -> tensor<3x20x4x{0}>
  %q:4 = kiln.unique %x {{sorted}} : (tensor<3x20x4x{0}>) -> (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<i64>)
  return %v, %at, %a, %c, %s, %t, %q#1 : tensor<3x20x4x{0}>, tensor<3x20x4xi64>, tensor<3x4xi64>, tensor<3x20x4x{0}>, tensor<3x20x4x{0}>, tensor<3x20x4x{0}>, tensor<3xi64>
}})",
                      type));
}

TEST(Library, Sort) {
  for (const char* type : {"f32", "i64", "i1"})
    for (const char* attribute : {"", "{descending}"})
      for (int axis : {0, 1, 2})
        check(fmt::format(R"(
func.func @main(%x: tensor<3x50x4x{0}>) -> (tensor<3x50x4x{0}>, tensor<3x50x4xi64>) {{
  %v, %at = kiln.sort %x axis {1} {2} : tensor<3x50x4x{0}> to tensor<3x50x4x{0}>, tensor<3x50x4xi64>
  return %v, %at : tensor<3x50x4x{0}>, tensor<3x50x4xi64>
}})",
                          type, axis, attribute));
}

TEST(Library, SortOfSpecialValues) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  CheckOptions options;
  options.inputs = {
      HostTensor::of<float>(DType::kF32, {8}, {kNan, 0.0f, -0.0f, kInf, -kInf, kNan, -0.0f, 1.0f})};
  for (const char* attribute : {"", "{descending}"})
    check(fmt::format(R"(
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi64>) {{
  %v, %at = kiln.sort %x axis 0 {0} : tensor<8xf32> to tensor<8xf32>, tensor<8xi64>
  return %v, %at : tensor<8xf32>, tensor<8xi64>
}})",
                      attribute),
          options);
}

TEST(Library, ArgReduce) {
  for (const char* type : {"f32", "i64", "i1"})
    for (const char* kind : {"max", "min"})
      for (const char* attribute : {"", "{last}"})
        check(fmt::format(R"(
func.func @main(%x: tensor<3x50x4x{0}>) -> (tensor<50x4xi64>, tensor<3x50xi64>) {{
  %0 = kiln.arg_reduce <{1}> %x axis 0 {2} : tensor<3x50x4x{0}> to tensor<50x4xi64>
  %1 = kiln.arg_reduce <{1}> %x axis 2 {2} : tensor<3x50x4x{0}> to tensor<3x50xi64>
  return %0, %1 : tensor<50x4xi64>, tensor<3x50xi64>
}})",
                          type, kind, attribute));
}

TEST(Library, Cumulative) {
  for (const char* type : kSome)
    for (const char* kind : {"sum", "prod"})
      for (const char* attributes : {"", "{exclusive}", "{reverse}", "{exclusive, reverse}"})
        check(fmt::format(R"(
func.func @main(%x: tensor<3x20x4x{0}>) -> (tensor<3x20x4x{0}>, tensor<3x20x4x{0}>) {{
  %0 = kiln.cumulative <{1}> %x axis 1 {2} : tensor<3x20x4x{0}>
  %1 = kiln.cumulative <{1}> %x axis 2 {2} : tensor<3x20x4x{0}>
  return %0, %1 : tensor<3x20x4x{0}>, tensor<3x20x4x{0}>
}})",
                          type, kind, attributes));
}

// The data is an input (must not change), a value computed in the program (may), and both used again.
std::string scatter(const std::string& kind, const std::string& type) {
  return fmt::format(R"(
func.func @main(%d: tensor<6x2x3x{1}>, %i: tensor<9xi64>, %u: tensor<9x2x3x{1}>) -> (tensor<6x2x3x{1}>, tensor<6x2x3x{1}>, tensor<6x2x3x{1}>) {{
  %0 = kiln.scatter <{0}> %d[%i], %u : (tensor<6x2x3x{1}>, tensor<9xi64>, tensor<9x2x3x{1}>) -> tensor<6x2x3x{1}>
  %1 = kiln.scatter <{0}> %0[%i], %u : (tensor<6x2x3x{1}>, tensor<9xi64>, tensor<9x2x3x{1}>) -> tensor<6x2x3x{1}>
  %c = kiln.compare <lt> %d, %0 : tensor<6x2x3x{1}>
  %2 = kiln.select %c, %0, %d : tensor<6x2x3xi1>, tensor<6x2x3x{1}>
  return %0, %1, %2 : tensor<6x2x3x{1}>, tensor<6x2x3x{1}>, tensor<6x2x3x{1}>
}})",
                     kind, type);
}

TEST(Library, Scatter) {
  CheckOptions options;  // out of range indices are ignored, repeated ones go in order
  const std::vector<std::int64_t> indices = {5, 0, -1, 2, 2, 6, std::numeric_limits<std::int64_t>::min(),
                                             0, 3};
  for (const char* type : kSome) {
    for (const char* kind : {"set", "add", "mul", "max", "min"}) {
      options.inputs = {HostTensor::zeros(*parseDType(type), {6, 2, 3}),
                        HostTensor::of<std::int64_t>(DType::kI64, {9}, indices)};
      check(scatter(kind, type), options);
    }
  }
}

TEST(Library, CompressAndUnique) {
  check(R"(
func.func @main(%m: tensor<77xi1>, %x: tensor<40x2xi32>, %y: tensor<30xf32>) -> (tensor<77xi64>, tensor<i64>, tensor<40xi64>, tensor<40xi64>, tensor<40xi64>, tensor<i64>, tensor<30xi64>, tensor<i64>) {
  %p, %n = kiln.compress %m : tensor<77xi1> to tensor<77xi64>, tensor<i64>
  %u:4 = kiln.unique %x {sorted} : (tensor<40x2xi32>) -> (tensor<40xi64>, tensor<40xi64>, tensor<40xi64>, tensor<i64>)
  %v:4 = kiln.unique %y : (tensor<30xf32>) -> (tensor<30xi64>, tensor<30xi64>, tensor<30xi64>, tensor<i64>)
  return %p, %n, %u#0, %u#1, %u#2, %u#3, %v#0, %v#3 : tensor<77xi64>, tensor<i64>, tensor<40xi64>, tensor<40xi64>, tensor<40xi64>, tensor<i64>, tensor<30xi64>, tensor<i64>
})");
}

TEST(Library, Nms) {
  for (const char* attribute : {"", "{center}"})
    check(fmt::format(R"(
func.func @main(%b: tensor<2x30x4xf32>, %s: tensor<2x3x30xf32>, %most: tensor<i64>) -> (tensor<180x3xi64>, tensor<i64>) {{
  %iou = kiln.constant dense<0.25> : tensor<f32>
  %score = kiln.constant dense<-0.5> : tensor<f32>
  %k, %n = kiln.nms %b, %s, %most, %iou, %score {0} : (tensor<2x30x4xf32>, tensor<2x3x30xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<180x3xi64>, tensor<i64>)
  return %k, %n : tensor<180x3xi64>, tensor<i64>
}})",
                      attribute));
}

}  // namespace
}  // namespace kiln::testing
