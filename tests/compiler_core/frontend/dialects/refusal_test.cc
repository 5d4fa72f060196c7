// What is not served, and what is wrong: with which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/frontend/dialects/run_program.h"

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

TEST(DialectsRefusal, ListsEverythingBeforeAnythingIsMade) {
  const Error error = errorOf(
      "module {\n\"tosa.variable\"() <{sym_name = \"state\", type = tensor<2xf32>, var_shape = dense<2> : "
      "tensor<1xindex>}> : () -> ()\n" +
      mainOf("%x: tensor<1x4x4xf32>", "tensor<1x4x4xf32>",
             "%0 = tosa.abs %x : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>\n"
             "%1, %2 = tosa.fft2d %0, %x {inverse = false} : (tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> "
             "(tensor<1x4x4xf32>, tensor<1x4x4xf32>)\n"
             "%3 = tosa.custom %1 {domain_name = \"mine\", implementation_attrs = \"\", operator_name = "
             "\"f\"} : "
             "(tensor<1x4x4xf32>) -> tensor<1x4x4xf32>\nreturn %3 : tensor<1x4x4xf32>") +
      "}");
  EXPECT_EQ(error.code, Code::kUnimplemented) << error.message;
  EXPECT_THAT(error.message, AllOf(HasSubstr("2 places of 3"), HasSubstr("function main: operation 1"),
                                   HasSubstr("tosa.fft2d"), HasSubstr("Fourier transforms are not served")));
  EXPECT_THAT(error.details, HasSubstr("tosa.custom"));
}

TEST(DialectsRefusal, OfWhatDependsOnItNothingIsSaid) {
  const Error error = errorOf(
      mainOf("%x: tensor<2x3xf32>, %n: tensor<i1>", "tensor<2x3xf32>",
             "%0 = linalg.reduce ins(%x : tensor<2x3xf32>) outs(%x : tensor<2x3xf32>) dimensions = [] (%a: "
             "f32, %b: f32) "
             "{\n%m = arith.subf %a, %b : f32\nlinalg.yield %m : f32\n}\nreturn %0 : tensor<2x3xf32>"));
  EXPECT_EQ(error.code, Code::kUnknown) << error.message;  // no loop is reduced, so any body is served
  expectUnserved(mainOf("%x: tensor<2x3xf32>, %o: tensor<2xf32>", "tensor<2xf32>",
                        "%0 = linalg.reduce ins(%x : tensor<2x3xf32>) outs(%o : tensor<2xf32>) dimensions = "
                        "[1] (%a: f32, %b: "
                        "f32) {\n%m = arith.subf %a, %b : f32\nlinalg.yield %m : f32\n}\n"
                        "%1 = arith.addf %0, %0 : tensor<2xf32>\nreturn %1 : tensor<2xf32>"),
                 "1 place of 3 nodes");
}

TEST(DialectsRefusal, TypesByName) {
  expectUnserved(mainOf("%x: tensor<2xcomplex<f32>>", "tensor<2xcomplex<f32>>",
                        "%0 = tensor.cast %x : tensor<2xcomplex<f32>> to tensor<2xcomplex<f32>>\n"
                        "return %0 : tensor<2xcomplex<f32>>"),
                 "numbers of type complex<f32> are not served");
  expectUnserved(mainOf("%x: tensor<*xf32>", "tensor<*xf32>",
                        "%0 = tosa.abs %x : (tensor<*xf32>) -> tensor<*xf32>\nreturn %0 : tensor<*xf32>"),
                 "tensors with a rank are");
  expectUnserved(mainOf("%x: tensor<2xi4>", "tensor<2xi4>",
                        "%0 = arith.muli %x, %x : tensor<2xi4>\nreturn %0 : tensor<2xi4>"),
                 "moved and cast alone");
  const Error scalar = errorOf(
      mainOf("%x: f32", "tensor<2xf32>", "%0 = tensor.splat %x : tensor<2xf32>\nreturn %0 : tensor<2xf32>"));
  EXPECT_EQ(scalar.code, Code::kUnimplemented);
  EXPECT_THAT(scalar.message, HasSubstr("an argument of type f32 is not served"));
}

TEST(DialectsRefusal, OperationsOnMemoryAndOfOthers) {
  expectUnserved(mainOf("%x: tensor<2xf32>", "tensor<2xf32>",
                        "%0 = \"bufferization.to_buffer\"(%x) : (tensor<2xf32>) -> memref<2xf32>\n"
                        "%1 = arith.addf %x, %x : tensor<2xf32>\nreturn %1 : tensor<2xf32>"),
                 "operations on memory are not served");
  expectUnserved(mainOf("%x: tensor<2xf32>", "tensor<2xf32>",
                        "%0 = \"mine.f\"(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
                        "%1 = arith.addf %0, %0 : tensor<2xf32>\nreturn %1 : tensor<2xf32>"),
                 "mine.f");
}

TEST(DialectsRefusal, FaultsOfTheProgram) {
  expectInvalid(
      "func.func private @f() -> tensor<f32> {\n%0 = arith.constant dense<1.0> : tensor<f32>\n"
      "return %0 : tensor<f32>\n}",
      "no function to run");
  expectInvalid(mainOf("%x: tensor<2xf32>", "tensor<2xf32>",
                       "%0 = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>",
                       "func.func private @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n%0 = arith.addf %a, %a : "
                       "tensor<2xf32>\n%1 = func.call @f(%0) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %1 : "
                       "tensor<2xf32>\n}"),
                "function f calls itself");
  expectInvalid(mainOf("%x: tensor<2xf32>", "tensor<2xf32>",
                       "%0 = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>\n%1 = arith.addf %0, %0 : "
                       "tensor<2xf32>\nreturn %1 : tensor<2xf32>",
                       "func.func private @f(tensor<2xf32>) -> tensor<2xf32>"),
                "no such function with a body");
  frontend::ImportOptions two;
  two.dims["arg0.0"] = 5;
  const Error slice =
      errorOf(mainOf("%x: tensor<?xf32>", "tensor<?xf32>",
                     "%0 = tensor.extract_slice %x[3] [4] [1] : tensor<?xf32> to tensor<4xf32>\n"
                     "%1 = tensor.cast %0 : tensor<4xf32> to tensor<?xf32>\nreturn %1 : tensor<?xf32>"),
              two);
  EXPECT_EQ(slice.code, Code::kInvalidArgument);
  EXPECT_THAT(slice.message, HasSubstr("leaves dimension 0"));
}

TEST(DialectsRefusal, AbsurdExtents) {
  for (const char* extent : {"-9223372036854775808", "-2", "9223372036854775807", "1099511627777"})
    expectInvalid(
        mainOf("%x: tensor<4xf32>", "tensor<?xf32>",
               std::string("%s = tosa.const_shape {values = dense<") + extent +
                   "> : tensor<1xindex>} : () -> !tosa.shape<1>\n"
                   "%m = tosa.min_shape %s, %s : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>\n"
                   "%0 = tosa.reshape %x, %m : (tensor<4xf32>, !tosa.shape<1>) -> tensor<?xf32>\n"
                   "return %0 : tensor<?xf32>"),
        "(tosa.reshape)");
}

TEST(DialectsRefusal, PinsThatFitNothing) {
  const std::string text = mainOf("%x: tensor<2xf32>", "tensor<2xf32>",
                                  "%0 = arith.addf %x, %x : tensor<2xf32>\nreturn %0 : tensor<2xf32>");
  frontend::ImportOptions options;
  options.pins["y"] = {std::int64_t{1}};
  EXPECT_EQ(errorOf(text, options).code, Code::kFailedPrecondition);
  EXPECT_THAT(errorOf(text, options).message, HasSubstr("its inputs are 'arg0'"));
}

}  // namespace
}  // namespace kiln
