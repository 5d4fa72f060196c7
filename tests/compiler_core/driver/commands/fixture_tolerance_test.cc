#include "compiler_core/driver/commands/fixture_tolerance.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <limits>

#include "compiler_core/driver/evaluate_reference.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::driver {
namespace {

using reference::HostTensor;

HostTensor f32(std::vector<float> values) {
  return HostTensor::of<float>(DType::kF32, {static_cast<std::int64_t>(values.size())}, values);
}
// By their codes: 1 is 0x3c00 in f16, 0x3f80 in bf16.
HostTensor codes(DType dtype, std::vector<std::uint16_t> values) {
  return HostTensor::of<std::uint16_t>(dtype, {static_cast<std::int64_t>(values.size())}, values);
}
FixtureTolerance of(DType coarsest, std::vector<HostTensor> outputs,
                    const Numerics& numerics = {.reassociation = "off"}) {
  return toleranceOf({{}, {}, {}, std::move(outputs), coarsest}, numerics);
}

TEST(FixtureTolerance, OfF32IsTheSameForAll) {
  const auto tolerance = of(DType::kF32, {f32({1e6f}), f32({1})});
  EXPECT_EQ(tolerance.relative, "1e-3");
  EXPECT_TRUE(tolerance.absolute.empty());
}

TEST(FixtureTolerance, Of16BitsGrowsWithWhatAnOutputHolds) {
  // 3, 4, 0, 0: a root mean square of 2.5.
  const auto tolerance =
      of(DType::kF16, {codes(DType::kF16, {0x4200, 0x4400, 0, 0}), f32({0.5f, -0.5f}), f32({0, 0}),
                       HostTensor::of<std::int64_t>(DType::kI64, {1}, {1000})});
  EXPECT_EQ(tolerance.relative, "4e-3");
  EXPECT_EQ(tolerance.absolute, (std::vector<std::string>{"1.0e-02", "2.0e-03", "1e-5", "1e-5"}));
}

TEST(FixtureTolerance, OfTf32IsThatOfF16) {
  const auto tolerance = of(DType::kF32, {f32({0.5f, -0.5f})}, {.precision = "tf32"});
  EXPECT_EQ(tolerance.relative, "4e-3");
  EXPECT_EQ(tolerance.absolute, std::vector<std::string>{"2.0e-03"});
  EXPECT_EQ(of(DType::kBF16, {f32({1})}, {.precision = "tf32"}).relative, "3e-2");
}

TEST(FixtureTolerance, OfSumsInAnotherOrderGrowsWithWhatAnOutputHolds) {
  for (const char* order : {"on", "deterministic"}) {
    const auto other = of(DType::kF32, {f32({100, -100}), f32({0, 0})}, {.reassociation = order});
    EXPECT_EQ(other.absolute, (std::vector<std::string>{"1.0e-01", "1e-5"})) << order;
  }
  const auto tolerance = of(DType::kF32, {f32({100, -100}), f32({0, 0})}, {.reassociation = "on"});
  EXPECT_EQ(tolerance.relative, "1e-3");
  EXPECT_EQ(tolerance.absolute, (std::vector<std::string>{"1.0e-01", "1e-5"}));
  EXPECT_EQ(of(DType::kF16, {codes(DType::kF16, {0x3c00})}, {.reassociation = "on"}).relative, "4e-3");
}

TEST(FixtureTolerance, OnDevicesSumsKeepTheirOrder) {
  CompileSpec spec;
  for (const auto& [target, fallback, order] :
       {std::array{"cpu:x86-64-v3", "fail", "deterministic"}, std::array{"cuda:sm_90a", "fail", "off"},
        std::array{"cuda:sm_90a", "cpu", "deterministic"},
        std::array{"cuda:sm_90a,cpu:x86-64-v3", "fail", "deterministic"}}) {
    spec.target = target;
    spec.fallback = fallback;
    EXPECT_EQ(appliedNumerics(spec).reassociation, order) << target << " " << fallback;
  }
}

TEST(FixtureTolerance, OfInt8IsWiderOnlyWhereTheGraphHasBytes) {
  ReferenceResult result;
  result.outputValues = {f32({1})};
  EXPECT_EQ(toleranceOf(result, {.precision = "int8"}).relative, "1e-3");
  result.hasBytes = true;
  EXPECT_EQ(toleranceOf(result, {.precision = "int8"}).relative, "1e-1");
}

TEST(FixtureTolerance, Of16BitsWithinAGraphCountsForItsF32Outputs) {
  const auto tolerance = of(DType::kBF16, {f32({1})});
  EXPECT_EQ(tolerance.relative, "3e-2");
  EXPECT_EQ(tolerance.absolute, std::vector<std::string>{"3.0e-02"});
}

TEST(FixtureTolerance, WhatAGraphCalculatesInIsSeenWithinIt) {
  const testing_support::TempDirectory directory;
  for (const bool small : {false, true}) {
    testing_support::OnnxBuilder model(17);
    model.input("x", {2, 3}).output("y");
    const int type = small ? testing_support::kOnnxHalf : testing_support::kOnnxDouble;
    model.node("Cast", {"x"}, {"a"}, {testing_support::onnxInt("to", type)}).node("Mul", {"a", "a"}, {"b"});
    model.node("Cast", {"b"}, {"y"}, {testing_support::onnxInt("to", testing_support::kOnnxFloat)});
    const std::string path = directory / "model.onnx";
    std::ofstream(path, std::ios::binary) << model.build();
    const auto result = evaluateReference(path, {}, {}, {}, 1);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->coarsest, small ? DType::kF16 : DType::kF32);
  }
}

TEST(FixtureTolerance, InfinitiesAndNothingDoNotCount) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto tolerance = of(DType::kF16, {f32({1, -kInfinity}), f32({})});
  EXPECT_EQ(tolerance.absolute, (std::vector<std::string>{"4.0e-03", "1e-5"}));
}

}  // namespace
}  // namespace kiln::driver
