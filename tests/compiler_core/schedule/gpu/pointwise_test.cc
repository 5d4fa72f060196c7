// What is no contraction as the threads of a device, run by the emulated device: the CPU target's bits, in
// any shape, with shared memory that starts as NaN and threads in three orders.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;

// The same bits as on a CPU; the device's IR after mapping.
std::string checkBits(const std::string& text, CheckOptions options = {}) {
  options.stage = "planned";
  const auto onCpu = checkText(text, options);
  if (!onCpu) ADD_FAILURE() << onCpu.error().message << "\n" << text;
  options.device = true;
  const auto onDevice = checkText(text, options);
  if (!onDevice) ADD_FAILURE() << onDevice.error().message << "\n" << text;
  if (!onCpu || !onDevice) return {};
  EXPECT_TRUE(onDevice->outputs == onCpu->outputs) << text;
  return onDevice->ir;
}

int count(const std::string& ir, const std::string& what) {
  int found = 0;
  for (std::size_t at = ir.find(what); at != std::string::npos; at = ir.find(what, at + 1)) ++found;
  return found;
}

std::string chain(const std::string& shape, const std::string& row, const std::string& type) {
  return fmt::format(R"(
func.func @main(%x: tensor<{0}x{2}>, %y: tensor<{0}x{2}>, %r: tensor<{1}x{2}>) -> tensor<{0}x{2}> {{
  %b = kiln.broadcast %r : tensor<{1}x{2}> to tensor<{0}x{2}>
  %0 = kiln.binary <add> %x, %b : tensor<{0}x{2}>
  %1 = kiln.unary <tanh> %0 : tensor<{0}x{2}>
  %2 = kiln.binary <mul> %1, %y : tensor<{0}x{2}>
  return %2 : tensor<{0}x{2}>
}})",
                     shape, row, type);
}

TEST(DeviceElementwise, ChainsInAnyShape) {
  const std::pair<const char*, const char*> shapes[] = {
      {"1", "1"}, {"31", "31"}, {"7x33", "33"}, {"3x5x64", "64"}, {"2x3x4x5x6", "6"}, {"40x129", "129"}};
  for (const auto& [shape, row] : shapes) checkBits(chain(shape, row, "f32"));
  for (const char* type : {"f64", "f16", "bf16"}) checkBits(chain("7x64", "64", type));
}

// Large enough for vectors of 16 bytes, whose length depends on the widest element.
TEST(DeviceElementwise, VectorsWhereTheyFit) {
  EXPECT_GT(count(checkBits(chain("300x1024", "1024", "f32")), "vector<4xf32>"), 0);
  EXPECT_GT(count(checkBits(chain("300x1024", "1024", "f64")), "vector<2xf64>"), 0);
  EXPECT_EQ(count(checkBits(chain("300x1025", "1025", "f32")), "vector<"), 0);
  // One dimension for all of what is contiguous.
  EXPECT_GT(count(checkBits(R"(
func.func @main(%x: tensor<8x7x36x172xf32>) -> tensor<8x7x36x172xf32> {
  %0 = kiln.unary <abs> %x : tensor<8x7x36x172xf32>
  return %0 : tensor<8x7x36x172xf32>
})"),
                  "memref.collapse_shape"),
            0);
}

TEST(DeviceReduce, OverAnyAxes) {
  for (const char* type : {"f32", "f64", "i32", "i8"})
    for (const char* kind : {"sum", "max", "min", "prod"})
      checkBits(fmt::format(R"(
func.func @main(%x: tensor<3x67x40x{1}>) -> (tensor<67x40x{1}>, tensor<3x40x{1}>, tensor<3x67x{1}>, tensor<{1}>, tensor<67x{1}>) {{
  %0 = kiln.reduce <{0}> %x axes [0] : tensor<3x67x40x{1}> to tensor<67x40x{1}>
  %1 = kiln.reduce <{0}> %x axes [1] : tensor<3x67x40x{1}> to tensor<3x40x{1}>
  %2 = kiln.reduce <{0}> %x axes [2] : tensor<3x67x40x{1}> to tensor<3x67x{1}>
  %3 = kiln.reduce <{0}> %x axes [0, 1, 2] : tensor<3x67x40x{1}> to tensor<{1}>
  %4 = kiln.reduce <{0}> %x axes [0, 2] : tensor<3x67x40x{1}> to tensor<67x{1}>
  return %0, %1, %2, %3, %4 : tensor<67x40x{1}>, tensor<3x40x{1}>, tensor<3x67x{1}>, tensor<{1}>, tensor<67x{1}>
}})",
                            kind, type));
}

// Sums of products are contracted as the CPU contracts them, or not.
TEST(DeviceReduce, SumsOfSquares) {
  for (const bool contraction : {true, false}) {
    CheckOptions options;
    options.contraction = contraction;
    options.rewrite = true;
    checkBits(R"(
func.func @main(%x: tensor<33x129xf32>) -> tensor<33xf32> {
  %0 = kiln.binary <mul> %x, %x : tensor<33x129xf32>
  %1 = kiln.reduce <sum> %0 axes [1] : tensor<33x129xf32> to tensor<33xf32>
  return %1 : tensor<33xf32>
})",
              options);
  }
}

std::string softmax(const std::string& shape, int axis) {
  return fmt::format(R"(
func.func @main(%x: tensor<{0}xf32>) -> tensor<{0}xf32> {{
  %0 = kiln.softmax %x axis {1} : tensor<{0}xf32>
  return %0 : tensor<{0}xf32>
}})",
                     shape, axis);
}

TEST(DeviceSoftmax, IsOneKernelAlongAnyAxis) {
  for (int axis : {0, 1, 2}) checkBits(softmax("4x33x21", axis));
  const std::string rows = checkBits(softmax("64x1000", 1));
  EXPECT_EQ(count(rows, "scf.forall"), 1) << rows;
  EXPECT_NE(rows.find("kiln.arena_bytes = 0"), std::string::npos) << rows;
  EXPECT_EQ(count(rows, "shared_bytes = 0"), 0) << rows;
}

// A row that no block's memory holds lies in the arena, one piece per block.
TEST(DeviceSoftmax, OfRowsThatAreTooLong) {
  const std::string ir = checkBits(softmax("5x20000", 1));
  EXPECT_GT(count(ir, "memref.view"), 0) << ir;
  EXPECT_EQ(ir.find("kiln.arena_bytes = 0"), std::string::npos) << ir;
}

// ReduceMean, Sub, Mul, ReduceMean, Add, Sqrt, Div, Mul, Add.
TEST(DeviceNormalise, LayerNormalisationIsOneKernel) {
  CheckOptions options;
  options.rewrite = true;
  const std::string ir = checkBits(R"(
func.func @main(%x: tensor<2x48x256xf32>, %s: tensor<256xf32>, %o: tensor<256xf32>) -> tensor<2x48x256xf32> {
  %n = kiln.constant dense<256.0> : tensor<2x48x1xf32>
  %e = kiln.constant dense<1.0e-5> : tensor<2x48x1xf32>
  %0 = kiln.reduce <sum> %x axes [2] : tensor<2x48x256xf32> to tensor<2x48xf32>
  %1 = kiln.reshape %0 : tensor<2x48xf32> to tensor<2x48x1xf32>
  %2 = kiln.binary <div> %1, %n : tensor<2x48x1xf32>
  %3 = kiln.broadcast %2 : tensor<2x48x1xf32> to tensor<2x48x256xf32>
  %c = kiln.binary <sub> %x, %3 : tensor<2x48x256xf32>
  %q = kiln.binary <mul> %c, %c : tensor<2x48x256xf32>
  %4 = kiln.reduce <sum> %q axes [2] : tensor<2x48x256xf32> to tensor<2x48xf32>
  %5 = kiln.reshape %4 : tensor<2x48xf32> to tensor<2x48x1xf32>
  %6 = kiln.binary <div> %5, %n : tensor<2x48x1xf32>
  %7 = kiln.binary <add> %6, %e : tensor<2x48x1xf32>
  %8 = kiln.unary <sqrt> %7 : tensor<2x48x1xf32>
  %9 = kiln.broadcast %8 : tensor<2x48x1xf32> to tensor<2x48x256xf32>
  %u = kiln.binary <div> %c, %9 : tensor<2x48x256xf32>
  %sb = kiln.broadcast %s : tensor<256xf32> to tensor<2x48x256xf32>
  %t = kiln.binary <mul> %u, %sb : tensor<2x48x256xf32>
  %ob = kiln.broadcast %o : tensor<256xf32> to tensor<2x48x256xf32>
  %y = kiln.binary <add> %t, %ob : tensor<2x48x256xf32>
  return %y : tensor<2x48x256xf32>
})",
                                   options);
  EXPECT_EQ(count(ir, "scf.forall"), 1) << ir;
}

TEST(DevicePooling, MaxAverageAndSum) {
  for (const char* kind : {"max", "sum", "average"})
    checkBits(fmt::format(R"(
func.func @main(%x: tensor<2x3x17xf32>, %y: tensor<2x3x39x40xf32>, %z: tensor<1x16x7x7xf32>) -> (tensor<2x3x9xf32>, tensor<2x3x19x40xf32>, tensor<1x16x1x1xf32>) {{
  %0 = kiln.pool <{0}> %x kernel [3] strides [2] pads [1, 1] dilations [1] : tensor<2x3x17xf32> to tensor<2x3x9xf32>
  %1 = kiln.pool <{0}> %y kernel [2, 3] strides [2, 1] pads [0, 1, 0, 1] dilations [2, 1] : tensor<2x3x39x40xf32> to tensor<2x3x19x40xf32>
  %2 = kiln.pool <{0}> %z kernel [7, 7] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x16x7x7xf32> to tensor<1x16x1x1xf32>
  return %0, %1, %2 : tensor<2x3x9xf32>, tensor<2x3x19x40xf32>, tensor<1x16x1x1xf32>
}})",
                          kind));
}

TEST(DeviceMovement, GatherTransposeConcatSlicePadAndIota) {
  CheckOptions options;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < 33; ++i) indices.push_back(i * 7 % 50 - 25);
  options.inputs = {HostTensor::of<std::int64_t>(DType::kI64, {33}, indices)};
  checkBits(R"(
func.func @main(%i: tensor<33xi64>, %t: tensor<50x64xf32>) -> (tensor<33x64xf32>, tensor<64x50xf32>, tensor<83x64xf32>, tensor<25x30xf32>, tensor<60x70xf32>, tensor<60x64xf32>, tensor<3x70xi64>) {
  %0 = kiln.gather %t[%i] axis 0 : (tensor<50x64xf32>, tensor<33xi64>) -> tensor<33x64xf32>
  %1 = kiln.transpose %t [1, 0] : tensor<50x64xf32> to tensor<64x50xf32>
  %2 = kiln.concat %0, %t axis 0 : (tensor<33x64xf32>, tensor<50x64xf32>) -> tensor<83x64xf32>
  %3 = kiln.slice %t offsets [49, 62] strides [-2, -2] : tensor<50x64xf32> to tensor<25x30xf32>
  %v = kiln.constant dense<3.0> : tensor<f32>
  %4 = kiln.pad <constant> %t, %v low [5, 2] high [5, 4] interior [0, 0] : tensor<50x64xf32>, tensor<f32> to tensor<60x70xf32>
  %5 = kiln.pad <reflect> %t, %v low [5, 0] high [5, 0] interior [0, 0] : tensor<50x64xf32>, tensor<f32> to tensor<60x64xf32>
  %6 = kiln.iota 1 : tensor<3x70xi64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<33x64xf32>, tensor<64x50xf32>, tensor<83x64xf32>, tensor<25x30xf32>, tensor<60x70xf32>, tensor<60x64xf32>, tensor<3x70xi64>
})",
            options);
}

// Sorted into no order: many updates of one row, in theirs.
TEST(DeviceLibrary, ScatterArgReduceAndRunningSums) {
  CheckOptions options;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < 200; ++i) indices.push_back(i * i % 41 - 2);
  options.inputs = {HostTensor::of<std::int64_t>(DType::kI64, {200}, indices)};
  for (const char* kind : {"set", "add", "mul", "max", "min"})
    for (const char* type : {"f32", "f16", "i32"})
      checkBits(fmt::format(R"(
func.func @main(%i: tensor<200xi64>, %d: tensor<37x5x{1}>, %u: tensor<200x5x{1}>) -> tensor<37x5x{1}> {{
  %0 = kiln.scatter <{0}> %d[%i], %u : (tensor<37x5x{1}>, tensor<200xi64>, tensor<200x5x{1}>) -> tensor<37x5x{1}>
  return %0 : tensor<37x5x{1}>
}})",
                            kind, type),
                options);
  for (const char* type : {"f32", "f64", "f16", "i32", "ui8"})
    checkBits(fmt::format(R"(
func.func @main(%x: tensor<3x50x4x{0}>) -> (tensor<50x4xi64>, tensor<3x50xi64>, tensor<3x50x4x{0}>, tensor<3x50x4x{0}>) {{
  %0 = kiln.arg_reduce <max> %x axis 0 : tensor<3x50x4x{0}> to tensor<50x4xi64>
  %1 = kiln.arg_reduce <min> %x axis 2 {{last}} : tensor<3x50x4x{0}> to tensor<3x50xi64>
  %2 = kiln.cumulative <sum> %x axis 1 : tensor<3x50x4x{0}>
  %3 = kiln.cumulative <prod> %x axis 2 {{exclusive, reverse}} : tensor<3x50x4x{0}>
  return %0, %1, %2, %3 : tensor<50x4xi64>, tensor<3x50xi64>, tensor<3x50x4x{0}>, tensor<3x50x4x{0}>
}})",
                          type));
}

// Shapes of any kind through transposes, broadcasts, chains and reductions, with what is small beside what is
// not.
TEST(DeviceRandom, ProgramsHaveTheBitsOfTheCpu) {
  std::mt19937 random(7);
  constexpr int kExtents[] = {1, 2, 3, 4, 8, 16, 31, 64, 100, 257};
  for (int round = 0; round < 25; ++round) {
    const std::size_t rank = random() % 3 + 2;
    std::vector<int> shape;
    int elements = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      do shape.push_back(kExtents[random() % std::size(kExtents)]);
      while (elements * shape.back() > 60000 && (shape.pop_back(), true));
      elements *= shape.back();
    }
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int> turned, kept;
    std::vector<std::size_t> axes;
    for (std::size_t i = 0; i < rank; ++i) {
      turned.push_back(shape[order[i]]);
      if (random() % 2)
        axes.push_back(i);
      else
        kept.push_back(turned[i]);
    }
    if (axes.empty()) {
      axes.push_back(0);
      kept.erase(kept.begin());
    }
    auto tensor = [](const std::vector<int>& dims) {
      return fmt::format("tensor<{}{}f32>", fmt::join(dims, "x"), dims.empty() ? "" : "x");
    };
    const std::string x = tensor(shape), t = tensor(turned), r = tensor(kept), row = tensor({shape.back()});
    const char* kinds[] = {"sum", "max", "min", "prod"};
    checkBits(fmt::format(R"(
func.func @main(%x: {0}, %r: {1}) -> ({0}, {2}, {3}) {{
  %b = kiln.broadcast %r : {1} to {0}
  %0 = kiln.binary <sub> %x, %b : {0}
  %1 = kiln.unary <sigmoid> %0 : {0}
  %2 = kiln.transpose %1 [{4}] : {0} to {2}
  %3 = kiln.reduce <{5}> %2 axes [{6}] : {2} to {3}
  return %1, %2, %3 : {0}, {2}, {3}
}})",
                          x, row, t, r, fmt::join(order, ", "), kinds[random() % 4], fmt::join(axes, ", ")));
  }
}

TEST(DeviceLibrary, WhatHasNoFormIsNamed) {
  CheckOptions options;
  options.device = true;
  const auto checked = checkText(R"(
func.func @main(%x: tensor<3x50x4xf32>) -> tensor<3x50x4xf32> {
  %v, %at = kiln.sort %x axis 1 : tensor<3x50x4xf32> to tensor<3x50x4xf32>, tensor<3x50x4xi64>
  return %v : tensor<3x50x4xf32>
})",
                                 options);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("'kiln_sort_f32' has no form for devices"), std::string::npos)
      << checked.error().message;
}

}  // namespace
}  // namespace kiln::testing
