// What is not served, and what is wrong: with which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/stablehlo/operations/operations.h"
#include "tests/compiler_core/frontend/stablehlo/run_program.h"

namespace kiln {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace testing_support;

Error errorOf(const std::string& text, const frontend::ImportOptions& options = {}) {
  auto made = importText(text, options);
  return made ? Error{Code::kUnknown, "imported", {}} : made.error();
}

void expectUnserved(const std::string& text, const std::string& reason) {
  const Error error = errorOf(text);
  EXPECT_EQ(error.code, Code::kUnimplemented) << error.message;
  EXPECT_THAT(error.message, HasSubstr(reason));
  EXPECT_THAT(error.details, HasSubstr("\"unsupported\""));
}

void expectInvalid(const std::string& text, const std::string& reason) {
  const Error error = errorOf(text);
  EXPECT_EQ(error.code, Code::kInvalidArgument) << error.message;
  EXPECT_THAT(error.message, HasSubstr(reason));
}

TEST(StablehloRefusal, ListsEverythingBeforeAnythingIsMade) {
  const Error error =
      errorOf(mainOf("%x: tensor<2xf32>", "tensor<2xf32>",
                     "%0 = stablehlo.cosine %x : tensor<2xf32>\n"
                     "%1 = stablehlo.complex %x, %0 : tensor<2xcomplex<f32>>\n"
                     "%f = stablehlo.fft %1, type = FFT, length = [2] : (tensor<2xcomplex<f32>>) -> "
                     "tensor<2xcomplex<f32>>\n"
                     "%g = chlo.acosh %f : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>\n"
                     "%2 = stablehlo.real %g : (tensor<2xcomplex<f32>>) -> tensor<2xf32>\n"
                     "%3 = stablehlo.custom_call @lapack_spotrf(%2) : (tensor<2xf32>) -> tensor<2xf32>\n"
                     "return %3 : tensor<2xf32>"));
  EXPECT_EQ(error.code, Code::kUnimplemented);
  EXPECT_THAT(error.message, AllOf(HasSubstr("3 places of 6"), HasSubstr("function main: operation 2"),
                                   HasSubstr("Fourier transforms are not served"),
                                   HasSubstr("it is not served for complex numbers"),
                                   HasSubstr("'lapack_spotrf' is not served")));
  EXPECT_THAT(error.details, HasSubstr("chlo.acosh"));
}

TEST(StablehloRefusal, TypesAndOperationsByName) {
  expectUnserved(
      mainOf("%x: tensor<2xcomplex<f32>>", "tensor<2xcomplex<f32>>", "return %x : tensor<2xcomplex<f32>>"),
      "not as its arguments");
  expectUnserved(
      mainOf("", "tensor<ui32>", "%0 = stablehlo.replica_id : tensor<ui32> return %0 : tensor<ui32>"),
      "several devices");
  expectUnserved(mainOf("%x: tensor<2xui64>", "tensor<2xui64>, tensor<ui32>",
                        "%0, %1 = stablehlo.rng_bit_generator %x, algorithm = PHILOX : (tensor<2xui64>) -> "
                        "(tensor<2xui64>, tensor<ui32>)\nreturn %0, %1 : tensor<2xui64>, tensor<ui32>"),
                 "algorithm PHILOX");
}

TEST(StablehloRefusal, WhatALaterOperationDependsOnIsListedOnce) {
  const Error error = errorOf(mainOf(
      "%x: tensor<2xui64>", "tensor<ui32>",
      "%0, %1 = stablehlo.rng_bit_generator %x, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, "
      "tensor<ui32>)\n%2 = stablehlo.add %1, %1 : tensor<ui32>\nreturn %2 : tensor<ui32>"));
  EXPECT_EQ(error.code, Code::kUnimplemented);
  EXPECT_THAT(error.message, HasSubstr("1 place of"));
}

TEST(StablehloRefusal, FaultsOfTheProgram) {
  expectInvalid(
      mainOf("%x: tensor<2xf32>", "tensor<3xf32>",
             "%0 = \"stablehlo.transpose\"(%x) <{permutation = array<i64: 0>}> : (tensor<2xf32>) -> "
             "tensor<3xf32>\nreturn %0 : tensor<3xf32>"),
      "where the program declares");
  expectInvalid(mainOf("%x: tensor<2xf32>, %y: tensor<1xf32>", "tensor<2xf32>",
                       "%0 = \"stablehlo.add\"(%x, %y) : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>\n"
                       "return %0 : tensor<2xf32>"),
                "operand 1 has the shape 1");
  expectInvalid(
      mainOf("%x: tensor<2xf32>", "tensor<2xf32>",
             "%0 = func.call @loop(%x) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>",
             "func.func private @loop(%a: tensor<2xf32>) -> tensor<2xf32> {\n%0 = func.call @loop(%a) : "
             "(tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>\n}"),
      "calls itself");
  expectInvalid(
      mainOf("%x: tensor<4xf32>", "tensor<2xf32>",
             "%0 = stablehlo.slice %x [1:9:4] : (tensor<4xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>"),
      "leaves dimension 0");
  expectInvalid(
      "func.func private @f() -> tensor<f32> {\n%0 = stablehlo.constant dense<1.0> : tensor<f32>\n"
      "return %0 : tensor<f32>\n}",
      "no function to run");
}

// An artifact whose outputs nobody can name runs nowhere.
TEST(StablehloRefusal, NamesOfResultsThatCannotBeShown) {
  for (const char* name : {"a\\00b", "a\\1B[2J", "a\\0Ab", "a\u202eb", "a\\FFb"})
    expectInvalid(
        "func.func public @main(%a: tensor<f32>) -> (tensor<f32>, tensor<f32> {jax.result_info = \"" +
            std::string(name) + "\"}) {\nreturn %a, %a : tensor<f32>, tensor<f32>\n}",
        "function main: result 1: its name (jax.result_info)");
}

// More dimensions than an operation may have are too many for an argument that is handed on as well.
TEST(StablehloRefusal, ArgumentsOfTooManyDimensions) {
  std::string most = "tensor<", more = "tensor<1x";
  for (int i = 0; i < 16; ++i) {
    most += "1x";
    more += "1x";
  }
  most += "f32>";
  more += "f32>";
  EXPECT_TRUE(importText(mainOf("%x: " + most, most, "return %x : " + most)));
  expectUnserved(mainOf("%x: tensor<f32>, %y: " + more, more, "return %y : " + more),
                 "'argument 1' ((input)): a rank of more than 16 is not served");
  expectUnserved(mainOf("%y: " + more, more, "%0 = stablehlo.abs %y : " + more + "\nreturn %0 : " + more),
                 "operation 0");
}

TEST(StablehloRefusal, PinsThatFitNothing) {
  const std::string text = mainOf("%x: tensor<2xf32>", "tensor<2xf32>", "return %x : tensor<2xf32>");
  frontend::ImportOptions options;
  options.pins["y"] = {std::int64_t{1}};
  EXPECT_EQ(errorOf(text, options).code, Code::kFailedPrecondition);
  options.pins = {{"arg0", {std::int64_t{1}}}};
  EXPECT_THAT(errorOf(text, options).message, HasSubstr("has 2 elements"));
}

TEST(StablehloRefusal, RowsHaveDifferentNames) {
  std::set<std::string_view> names;
  for (const stablehlo::Row& row : stablehlo::allRows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(stablehlo::whyMissing(row.name).empty()) << row.name;
  }
}

}  // namespace
}  // namespace kiln
