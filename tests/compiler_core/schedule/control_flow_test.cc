// Loops and branches, compiled and run: in place, at any thread count, with the reference evaluator's values.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;

HostTensor number(std::int64_t value) {
  return HostTensor::of<std::int64_t>(DType::kI64, {}, {value});
}
HostTensor truth(bool value) {
  return HostTensor::of<std::uint8_t>(DType::kBool, {}, {value});
}
HostTensor ramp(std::vector<std::int64_t> shape) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.data<float>()[i] = static_cast<float>(i % 37) / 16.0f - 1.0f;
  return tensor;
}

Checked check(const std::string& text, const std::vector<HostTensor>& inputs) {
  CheckOptions options;
  options.inputs = inputs;
  auto checked = checkText(text, options);
  EXPECT_TRUE(checked) << (checked ? "" : checked.error().message) << "\n" << text;
  return checked ? *checked : Checked();
}

// The state is multiplied by a matrix: it can only be replaced when the product is there.
constexpr const char* kPower = R"(
func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>, %n: tensor<i64>) -> (tensor<8x64xf32>, tensor<i64>) {
  %r:2 = kiln.loop trip %n : tensor<i64> carried(%x) : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<8x64xf32>):
    %m = kiln.matmul %p, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %t = kiln.unary <tanh> %m : tensor<8x64xf32>
    kiln.yield %t : tensor<8x64xf32>
  }
  return %r#0, %r#1 : tensor<8x64xf32>, tensor<i64>
})";

TEST(ControlFlow, ALoopOverATripCount) {
  for (std::int64_t trips : {-1, 0, 1, 5}) check(kPower, {ramp({8, 64}), ramp({64, 64}), number(trips)});
}

TEST(ControlFlow, CarriedValuesThatChangePlaces) {
  check(R"(
func.func @main(%a: tensor<300xf32>, %b: tensor<300xf32>, %n: tensor<i64>) -> (tensor<300xf32>, tensor<20x15xf32>, tensor<300xf32>) {
  %c = kiln.reshape %b : tensor<300xf32> to tensor<20x15xf32>
  %r:4 = kiln.loop trip %n : tensor<i64> carried(%a, %c, %a) : (tensor<300xf32>, tensor<20x15xf32>, tensor<300xf32>) -> (tensor<300xf32>, tensor<20x15xf32>, tensor<300xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<300xf32>, %q: tensor<20x15xf32>, %s: tensor<300xf32>):
    %flat = kiln.reshape %q : tensor<20x15xf32> to tensor<300xf32>
    %back = kiln.reshape %s : tensor<300xf32> to tensor<20x15xf32>
    %sum = kiln.binary <add> %p, %flat : tensor<300xf32>
    kiln.yield %flat, %back, %sum : tensor<300xf32>, tensor<20x15xf32>, tensor<300xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<300xf32>, tensor<20x15xf32>, tensor<300xf32>
})",
        {ramp({300}), ramp({300}), number(5)});
}

TEST(ControlFlow, AConditionThatTheBodyChanges) {
  const std::string text = R"(
func.func @main(%x: tensor<64xf32>, %go: tensor<i1>, %n: tensor<i64>) -> (tensor<64xf32>, tensor<i64>) {
  %limit = kiln.constant dense<1.0e3> : tensor<f32>
  %r:2 = kiln.loop trip %n : tensor<i64> condition %go : tensor<i1> carried(%x) : (tensor<64xf32>) -> (tensor<64xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<64xf32>):
    %twice = kiln.binary <add> %p, %p : tensor<64xf32>
    %most = kiln.reduce <max> %twice axes [0] : tensor<64xf32> to tensor<f32>
    %more = kiln.compare <lt> %most, %limit : tensor<f32>
    kiln.yield %more, %twice : tensor<i1>, tensor<64xf32>
  }
  return %r#0, %r#1 : tensor<64xf32>, tensor<i64>
})";
  for (bool go : {false, true})
    for (std::int64_t trips : {0, 3, 100}) check(text, {ramp({64}), truth(go), number(trips)});
}

TEST(ControlFlow, RowsAreCollectedInPlace) {
  const Checked checked = check(R"(
func.func @main(%x: tensor<1000xf32>) -> (tensor<100x1000xf32>, tensor<1000xf32>) {
  %n = kiln.constant dense<100> : tensor<i64>
  %zero = kiln.constant dense<0.0> : tensor<100x1000xf32>
  %r:3 = kiln.loop trip %n : tensor<i64> carried(%x, %zero) : (tensor<1000xf32>, tensor<100x1000xf32>) -> (tensor<1000xf32>, tensor<100x1000xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<1000xf32>, %rows: tensor<100x1000xf32>):
    %half = kiln.constant dense<0.5> : tensor<1000xf32>
    %next = kiln.binary <mul> %p, %half : tensor<1000xf32>
    %at = kiln.reshape %i : tensor<i64> to tensor<1xi64>
    %row = kiln.reshape %next : tensor<1000xf32> to tensor<1x1000xf32>
    %all = kiln.scatter <set> %rows[%at], %row : (tensor<100x1000xf32>, tensor<1xi64>, tensor<1x1000xf32>) -> tensor<100x1000xf32>
    kiln.yield %next, %all : tensor<1000xf32>, tensor<100x1000xf32>
  }
  return %r#1, %r#0 : tensor<100x1000xf32>, tensor<1000xf32>
})",
                                {ramp({1000})});
  // The rows once, not once more for each iteration.
  EXPECT_LT(checked.arenaBytes, 2u * 100 * 1000 * 4);
}

TEST(ControlFlow, RowsAreReadByTheIterationNumber) {
  check(R"(
func.func @main(%x: tensor<9x16xf32>) -> tensor<16xf32> {
  %n = kiln.constant dense<9> : tensor<i64>
  %last = kiln.constant dense<8> : tensor<i64>
  %zero = kiln.constant dense<0.0> : tensor<16xf32>
  %r:2 = kiln.loop trip %n : tensor<i64> carried(%zero) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<16xf32>):
    %at = kiln.binary <sub> %last, %i : tensor<i64>
    %row = kiln.gather %x[%at] axis 0 : (tensor<9x16xf32>, tensor<i64>) -> tensor<16xf32>
    %scale = kiln.cast %i : tensor<i64> to tensor<f32>
    %scales = kiln.broadcast %scale : tensor<f32> to tensor<16xf32>
    %scaled = kiln.binary <mul> %row, %scales : tensor<16xf32>
    %sum = kiln.binary <add> %p, %scaled : tensor<16xf32>
    kiln.yield %sum : tensor<16xf32>
  }
  return %r#0 : tensor<16xf32>
})",
        {ramp({9, 16})});
}

TEST(ControlFlow, BranchesInLoopsAndLoopsInBranches) {
  const std::string text = R"(
func.func @main(%x: tensor<500xf32>, %c: tensor<i1>, %n: tensor<i64>) -> (tensor<500xf32>, tensor<500xf32>) {
  %two = kiln.constant dense<2> : tensor<i64>
  %zero = kiln.constant dense<0> : tensor<i64>
  %r:2 = kiln.loop trip %n : tensor<i64> carried(%x) : (tensor<500xf32>) -> (tensor<500xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<500xf32>):
    %odd = kiln.binary <mod> %i, %two : tensor<i64>
    %isOdd = kiln.compare <gt> %odd, %zero : tensor<i64>
    %q = kiln.if %isOdd : tensor<i1> to tensor<500xf32> {
      %s:2 = kiln.loop trip %i : tensor<i64> carried(%p) : (tensor<500xf32>) -> (tensor<500xf32>, tensor<i64>) {
      ^bb0(%j: tensor<i64>, %inner: tensor<500xf32>):
        %o = kiln.binary <add> %inner, %x : tensor<500xf32>
        kiln.yield %o : tensor<500xf32>
      }
      kiln.yield %s#0 : tensor<500xf32>
    } else {
      %neg = kiln.unary <neg> %p : tensor<500xf32>
      kiln.yield %neg : tensor<500xf32>
    }
    kiln.yield %q : tensor<500xf32>
  }
  %a, %b = kiln.if %c : tensor<i1> to tensor<500xf32>, tensor<500xf32> {
    kiln.yield %r#0, %x : tensor<500xf32>, tensor<500xf32>
  } else {
    kiln.yield %x, %r#0 : tensor<500xf32>, tensor<500xf32>
  }
  return %a, %b : tensor<500xf32>, tensor<500xf32>
})";
  for (bool c : {false, true}) check(text, {ramp({500}), truth(c), number(6)});
}

// The zero of a branch, of two carried values and of a result.
TEST(ControlFlow, AConstantLiesInSeveralBuffers) {
  const std::string text = R"(
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<i64>) {
  %zeros = kiln.constant dense<0.0> : tensor<4xf32>
  %zero = kiln.constant dense<0> : tensor<i64>
  %a, %b = kiln.if %c : tensor<i1> to tensor<4xf32>, tensor<i64> {
    kiln.yield %x, %n : tensor<4xf32>, tensor<i64>
  } else {
    kiln.yield %zeros, %zero : tensor<4xf32>, tensor<i64>
  }
  %r:4 = kiln.loop trip %n : tensor<i64> carried(%zeros, %zeros, %zero) : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<4xf32>, %q: tensor<4xf32>, %k: tensor<i64>):
    %sum = kiln.binary <add> %p, %x : tensor<4xf32>
    %next = kiln.binary <add> %k, %n : tensor<i64>
    kiln.yield %sum, %zeros, %next : tensor<4xf32>, tensor<4xf32>, tensor<i64>
  }
  return %a, %r#0, %r#1, %b, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<i64>
})";
  for (bool c : {false, true}) check(text, {ramp({4}), truth(c), number(3)});
}

TEST(ControlFlow, WhatIterationsMakeForThemselvesSharesMemory) {
  const Checked checked = check(kPower, {ramp({8, 64}), ramp({64, 64}), number(3)});
  // The state, its successor, and little more.
  EXPECT_LE(checked.arenaBytes, 4u * 8 * 64 * 4);
}

}  // namespace
}  // namespace kiln::testing
