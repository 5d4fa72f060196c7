// Complex numbers within a program, by value: formulas against the C++ library, and what moves or carries
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>

#include "compiler_core/frontend/stablehlo/program/element.h"
#include "tests/compiler_core/frontend/stablehlo/run_program.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;
using Complex = std::complex<double>;

// Of z = complex(%x, %y), each f64 of `shape`; `body` makes %r of `result`.
std::string onPairs(const std::string& shape, const std::string& result, const std::string& body,
                    const std::string& others = "") {
  const std::string real = "tensor<" + shape + "xf64>", complex = "tensor<" + shape + "xcomplex<f64>>";
  return mainOf("%x: " + real + ", %y: " + real, "tensor<" + result + "xf64>, tensor<" + result + "xf64>",
                "%z = stablehlo.complex %x, %y : " + complex + "\n" + body +
                    "\n%re = stablehlo.real %r : (tensor<" + result + "xcomplex<f64>>) -> tensor<" + result +
                    "xf64>\n%im = stablehlo.imag %r : (tensor<" + result + "xcomplex<f64>>) -> tensor<" +
                    result + "xf64>\nreturn %re, %im : tensor<" + result + "xf64>, tensor<" + result +
                    "xf64>",
                others);
}

std::vector<Complex> run(const std::string& text, const std::vector<std::int64_t>& shape,
                         const std::vector<Complex>& values) {
  std::vector<double> real, imaginary;
  for (const Complex& value : values) {
    real.push_back(value.real());
    imaginary.push_back(value.imag());
  }
  const auto got = runText(
      text, {HostTensor::of(DType::kF64, shape, real), HostTensor::of(DType::kF64, shape, imaginary)});
  EXPECT_TRUE(got) << got.error().message;
  const auto first = elementsOf<double>(got, 0), second = elementsOf<double>(got, 1);
  std::vector<Complex> results;
  for (std::size_t i = 0; i < first.size(); ++i) results.emplace_back(first[i], second[i]);
  return results;
}

const std::vector<Complex> kPoints = {{0.5, 0.25}, {-1.5, 2}, {-0.75, -3}, {2, -0.5}, {1e-3, 1e-3}, {-2, 0}};

void expectClose(const std::string& operation, Complex (*wanted)(const Complex&)) {
  const std::string type = "tensor<6xcomplex<f64>>";
  const std::string call = operation.starts_with("chlo.") ? type + " -> " + type : type;
  const auto got = run(onPairs("6", "6", "%r = " + operation + " %z : " + call), {6}, kPoints);
  ASSERT_EQ(got.size(), kPoints.size()) << operation;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Complex expected = wanted(kPoints[i]);
    EXPECT_LT(std::abs(got[i] - expected), 1e-13 * (1 + std::abs(expected)))
        << operation << " of " << kPoints[i] << " is " << got[i] << ", not " << expected;
  }
}

TEST(StablehloComplex, FunctionsAreThoseOfTheLibrary) {
  expectClose("stablehlo.exponential", [](const Complex& z) { return std::exp(z); });
  expectClose("stablehlo.exponential_minus_one", [](const Complex& z) { return std::exp(z) - 1.0; });
  expectClose("stablehlo.log", [](const Complex& z) { return std::log(z); });
  expectClose("stablehlo.log_plus_one", [](const Complex& z) { return std::log(1.0 + z); });
  expectClose("stablehlo.sqrt", [](const Complex& z) { return std::sqrt(z); });
  expectClose("stablehlo.rsqrt", [](const Complex& z) { return 1.0 / std::sqrt(z); });
  expectClose("stablehlo.sine", [](const Complex& z) { return std::sin(z); });
  expectClose("stablehlo.cosine", [](const Complex& z) { return std::cos(z); });
  expectClose("stablehlo.tanh", [](const Complex& z) { return std::tanh(z); });
  expectClose("stablehlo.logistic", [](const Complex& z) { return 1.0 / (1.0 + std::exp(-z)); });
  expectClose("stablehlo.negate", [](const Complex& z) { return -z; });
  expectClose("stablehlo.sign", [](const Complex& z) { return z / std::abs(z); });
  expectClose("chlo.sinh", [](const Complex& z) { return std::sinh(z); });
  expectClose("chlo.cosh", [](const Complex& z) { return std::cosh(z); });
  expectClose("chlo.tan", [](const Complex& z) { return std::tan(z); });
}

TEST(StablehloComplex, DividesWithoutOverflow) {
  const auto got = run(onPairs("2", "2", "%r = stablehlo.divide %z, %z : tensor<2xcomplex<f64>>"), {2},
                       {{1e300, 1e300}, {-3e-300, 1e-300}});
  ASSERT_EQ(got.size(), 2u);
  for (const Complex& one : got) EXPECT_LT(std::abs(one - 1.0), 1e-15) << one;
}

TEST(StablehloComplex, MagnitudeIsReal) {
  const auto got = runText(
      mainOf("%x: tensor<4xf64>, %y: tensor<4xf64>", "tensor<4xf64>",
             "%z = stablehlo.complex %x, %y : tensor<4xcomplex<f64>>\n"
             "%0 = stablehlo.abs %z : (tensor<4xcomplex<f64>>) -> tensor<4xf64>\nreturn %0 : tensor<4xf64>"),
      {HostTensor::of(DType::kF64, {4}, std::vector<double>{3, 0, 3e200, -HUGE_VAL}),
       HostTensor::of(DType::kF64, {4}, std::vector<double>{-4, 0, 4e200, NAN})});
  EXPECT_THAT(elementsOf<double>(got), ElementsAre(5, 0, testing::DoubleEq(5e200), HUGE_VAL));
}

TEST(StablehloComplex, MovesBothParts) {
  const auto got = run(
      onPairs(
          "2", "3",
          "%c = stablehlo.constant dense<(7.0,8.0)> : tensor<1xcomplex<f64>>\n"
          "%t = stablehlo.reverse %z, dims = [0] : tensor<2xcomplex<f64>>\n"
          "%r = stablehlo.concatenate %t, %c, dim = 0 : (tensor<2xcomplex<f64>>, tensor<1xcomplex<f64>>) -> "
          "tensor<3xcomplex<f64>>"),
      {2}, {{1, 2}, {3, 4}});
  EXPECT_THAT(got, ElementsAre(Complex(3, 4), Complex(1, 2), Complex(7, 8)));
}

TEST(StablehloComplex, ReducesWithAnyBodyAndCallsFunctions) {
  const auto got =
      run(onPairs("3", "1",
                  "%one = stablehlo.constant dense<(1.0,0.0)> : tensor<complex<f64>>\n"
                  "%p = stablehlo.reduce(%z init: %one) applies stablehlo.multiply across dimensions = [0] : "
                  "(tensor<3xcomplex<f64>>, tensor<complex<f64>>) -> tensor<complex<f64>>\n"
                  "%q = call @twice(%p) : (tensor<complex<f64>>) -> tensor<complex<f64>>\n"
                  "%r = stablehlo.reshape %q : (tensor<complex<f64>>) -> tensor<1xcomplex<f64>>",
                  "func.func private @twice(%a: tensor<complex<f64>>) -> tensor<complex<f64>> {\n"
                  "%0 = stablehlo.add %a, %a : tensor<complex<f64>>\nreturn %0 : tensor<complex<f64>>\n}"),
          {3}, {{1, 1}, {2, -1}, {0, 1}});
  EXPECT_THAT(got, ElementsAre(2.0 * Complex(1, 1) * Complex(2, -1) * Complex(0, 1)));
}

TEST(StablehloComplex, ContractsWithReals) {
  const auto got = run(
      onPairs("2", "1",
              "%w = stablehlo.constant dense<[[2], [3]]> : tensor<2x1xi32>\n"
              "%r = stablehlo.dot_general %z, %w, contracting_dims = [0] x [0] : (tensor<2xcomplex<f64>>, "
              "tensor<2x1xi32>) -> tensor<1xcomplex<f64>>"),
      {2}, {{1, 2}, {3, -4}});
  EXPECT_THAT(got, ElementsAre(Complex(11, -8)));
}

TEST(StablehloComplex, OtherFunctionsThanThoseThatRunMayBeAnything) {
  const auto made = importText(mainOf(
      "%x: tensor<2xf32>", "tensor<2xf32>", "return %x : tensor<2xf32>",
      "func.func private @never(%a: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {\n"
      "%0 = stablehlo.fft %a, type = FFT, length = [2] : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>\n"
      "return %0 : tensor<2xcomplex<f32>>\n}"));
  EXPECT_TRUE(made) << made.error().message;
}

TEST(StablehloComplex, WhatIsUsedBeforeItIsDefinedIsAFault) {
  stablehlo::Program program;
  stablehlo::Function& main = program.functions.emplace_back();
  main.name = "main";
  main.types = {stablehlo::tensorType(stablehlo::Element::kF32, {2}),
                stablehlo::tensorType(stablehlo::Element::kC64, {2}),
                stablehlo::tensorType(stablehlo::Element::kF32, {2})};
  main.results = {main.types[0]};
  main.arguments.resize(1);
  main.body.arguments = {0};
  main.body.operations = {
      {"real", {1}, {2}, {}, {}, ""}, {"complex", {0, 0}, {1}, {}, {}, ""}, {"return", {2}, {}, {}, {}, ""}};
  mlir::MLIRContext context;
  frontend::prepareContext(context);
  const auto made = stablehlo::importProgram(context, program, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
}

TEST(StablehloComplex, ResultsOfTheProgramAreReal) {
  const auto made = importText(
      mainOf("%x: tensor<2xf32>", "tensor<2xcomplex<f32>>",
             "%0 = stablehlo.complex %x, %x : tensor<2xcomplex<f32>>\nreturn %0 : tensor<2xcomplex<f32>>"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kUnimplemented);
  EXPECT_THAT(made.error().message, HasSubstr("not as its results"));
}

}  // namespace
}  // namespace kiln
