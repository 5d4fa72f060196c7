// StableHLO's text, in both of its forms, and hostile text.
#include "compiler_core/frontend/stablehlo/text/read_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/stablehlo/bytecode/read_bytecode.h"
#include "compiler_core/frontend/stablehlo/program/attributes.h"
#include "tests/compiler_core/frontend/stablehlo/dump.h"
#include "tests/compiler_core/frontend/stablehlo/fixture.h"

namespace kiln::stablehlo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Program readFine(std::string_view text) {
  auto program = readText(text, "test.mlir");
  if (program) return std::move(*program);
  ADD_FAILURE() << program.error().message;
  Program none;
  none.functions.emplace_back();
  return none;
}

// The operations of main, whose body this is.
Program readBody(const std::string& arguments, const std::string& body) {
  return readFine("func.func @main(" + arguments + ") {\n" + body + "\nreturn\n}\n");
}

const Attributes& attributesOf(const Program& program, std::string_view name) {
  static const Attributes kNone;
  for (const Operation& operation : program.functions[0].body.operations)
    if (operation.name == name) return operation.attributes;
  ADD_FAILURE() << "no operation " << name;
  return kNone;
}

void expectRefused(std::string_view text, Code code, std::string_view part) {
  auto program = readText(text, "test.mlir");
  ASSERT_FALSE(program) << "accepted; expected " << part;
  EXPECT_EQ(program.error().code, code);
  EXPECT_THAT(program.error().message, HasSubstr(std::string(part)));
}

TEST(Text, SaysTheSameAsItsArtifact) {
  for (const std::string name :
       {"operations.0.9.0.mlirbc", "operations.1.17.0.mlirbc", "newer.1.17.0.mlirbc"}) {
    const test::Fixture artifact = test::fixture(name);
    const test::Fixture text = test::fixture(name.substr(0, name.find('.')) + ".mlir");
    auto written = readBytecode(artifact.bytes(), artifact.content);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(test::dump(readFine(text.text())), test::dump(*written)) << name;
  }
}

TEST(Text, GenericFormSaysTheSame) {
  const Program pretty = readBody("%a: tensor<2x3xf32>, %z: tensor<f32>", R"(
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
    %1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>)");
  const Program generic = readFine(R"("builtin.module"() ({
    "func.func"() <{function_type = (tensor<2x3xf32>, tensor<f32>) -> (), sym_name = "main"}> ({
    ^bb0(%a: tensor<2x3xf32>, %z: tensor<f32>):
      %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %2 = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%2) : (tensor<f32>) -> ()
      }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
      %1 = "stablehlo.transpose"(%a) {permutation = dense<[1, 0]> : tensor<2xi64>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
      "func.return"() : () -> ()
    }) : () -> ()
  }) : () -> ())");
  EXPECT_EQ(test::dump(pretty), test::dump(generic));
  EXPECT_EQ(generic.form, "StableHLO text");
}

TEST(Text, OperationsWithOneTypeUseItForAll) {
  const Program program = readBody("%a: tensor<2xf32>, %p: tensor<2xi1>, %c: tensor<2xcomplex<f32>>", R"(
    %0 = stablehlo.clamp %a, %a, %a : tensor<2xf32>
    %1 = stablehlo.select %p, %a, %a : tensor<2xi1>, tensor<2xf32>
    %2 = stablehlo.complex %a, %a : tensor<2xcomplex<f32>>
    %3 = stablehlo.abs %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %4:2 = stablehlo.optimization_barrier %a, %p : tensor<2xf32>, tensor<2xi1>
    %5 = chlo.erf %a : tensor<2xf32> -> tensor<2xf32>
    %6:2 = chlo.top_k(%a, k = 1) : tensor<2xf32> -> (tensor<1xf32>, tensor<1xi32>)
    %7 = stablehlo.replica_id : tensor<ui32>
    %8 = stablehlo.after_all : !stablehlo.token)");
  const std::string text = test::dump(program);
  EXPECT_THAT(text, HasSubstr("%3: tensor<2xf32> = clamp %0, %0, %0 {}"));
  EXPECT_THAT(text, HasSubstr("%4: tensor<2xf32> = select %1, %0, %0 {}"));
  EXPECT_THAT(text, HasSubstr("%5: tensor<2xcomplex<f32>> = complex %0, %0 {}"));
  EXPECT_THAT(text, HasSubstr("%6: tensor<2xf32> = abs %2 {}"));
  EXPECT_THAT(text, HasSubstr("%7: tensor<2xf32>, %8: tensor<2xi1> = optimization_barrier %0, %1 {}"));
  EXPECT_THAT(text, HasSubstr("= chlo.erf %0 {}"));
  EXPECT_THAT(text, HasSubstr("%10: tensor<1xf32>, %11: tensor<1xi32> = chlo.top_k %0 {k = 1}"));
  EXPECT_THAT(text, HasSubstr("%12: tensor<ui32> = replica_id"));
  EXPECT_THAT(text, HasSubstr("%13: !stablehlo.token = after_all"));
}

TEST(Text, ChecksAreRead) {
  const Program program = readBody("%a: tensor<f64>", R"(
    check.expect_almost_eq_const %a, dense<1.5> : tensor<f64> {tolerance = 0.25 : f64}
    check.expect_almost_eq %a, %a, tolerance = 0.5 : tensor<f64>
    check.expect_close %a, %a, max_ulp_difference = 3 : tensor<f64>, tensor<f64>)");
  EXPECT_EQ(*floatAttribute(attributesOf(program, "check.expect_almost_eq_const"), "tolerance"), 0.25);
  EXPECT_EQ(literalAttribute(attributesOf(program, "check.expect_almost_eq_const"), "value")->bytes.size(),
            8u);
  EXPECT_EQ(*floatAttribute(attributesOf(program, "check.expect_almost_eq"), "tolerance"), 0.5);
  EXPECT_EQ(*integerAttribute(attributesOf(program, "check.expect_close"), "max_ulp_difference"), 3);
}

TEST(Text, ConvolutionsMayHaveAnyOrder) {
  const Program program = readBody("%x: tensor<3x4x1x2xf32>, %k: tensor<1x2x2x5xf32>", R"(
    %0 = stablehlo.convolution(%x, %k) dim_numbers = [1, 0, b, f]x[o, i, 0, 1]->[f, b, 1, 0], window = {lhs_dilate = [2, 1], pad = [[0, -1], [2, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x4x1x2xf32>, tensor<1x2x2x5xf32>) -> tensor<1x1x3x4xf32>)");
  const Attributes& attributes = attributesOf(program, "convolution");
  EXPECT_THAT(*integersAttribute(attributes, "input_spatial_dimensions"), ElementsAre(1, 0));
  EXPECT_EQ(*integerAttribute(attributes, "input_batch_dimension"), 2);
  EXPECT_EQ(*integerAttribute(attributes, "kernel_output_feature_dimension"), 0);
  EXPECT_THAT(*integersAttribute(attributes, "output_spatial_dimensions"), ElementsAre(3, 2));
  EXPECT_THAT(*integersAttribute(attributes, "padding"), ElementsAre(0, -1, 2, 3));
  EXPECT_THAT(*integersAttribute(attributes, "lhs_dilation"), ElementsAre(2, 1));
  EXPECT_THAT(*integersAttribute(attributes, "window_strides"), ElementsAre(1, 1));
}

TEST(Text, BooleansInHexadecimalMayBePackedOrNot) {
  const auto bytes = [](const std::string& hex) {
    const Program program = readBody("", "%0 = stablehlo.constant dense<\"0x" + hex + "\"> : tensor<2x6xi1>");
    const auto literal = literalAttribute(attributesOf(program, "constant"), "value");
    return literal ? toHex(literal->bytes) : literal.error().message;
  };
  EXPECT_EQ(bytes("010001010000000001000101"), "010001010000000001000101");
  EXPECT_EQ(bytes("0D0D"), "010001010000000001000101");
}

TEST(Text, ErrorsNameLineAndColumn) {
  expectRefused("func.func @main() {\n  %0 = stablehlo.add %a, %a : tensor<f32>\n  return\n}\n",
                Code::kInvalidArgument, "test.mlir:2:22: use of undeclared SSA value name");
  expectRefused("func.func @main(%a: tensor<f32>) {\n  %0 = stablehlo.surprise %a : tensor<f32>\n  return\n}",
                Code::kInvalidArgument, "test.mlir:2:8: custom op 'stablehlo.surprise' is unknown");
  expectRefused(
      "func.func @main(%a: tensor<f32>) {\n  %0 = stablehlo.transpose %a, order = [] : (tensor<f32>) -> "
      "tensor<f32>\n  return\n}",
      Code::kInvalidArgument, "'order' is not known in stablehlo.transpose");
  expectRefused(
      "func.func @main(%a: tensor<f32>) {\n  %0 = \"stablehlo.iota\"() : () -> tensor<2xf32>\n  return\n}",
      Code::kInvalidArgument,
      "test.mlir: function main: operation 0 (iota): has no attribute 'iota_dimension'");
}

TEST(Text, BrokenSyntaxIsRefused) {
  const auto broken = [](const std::string& operation) {
    expectRefused("func.func @f(%a: tensor<2x2xf32>, %z: tensor<f32>) {\n" + operation + "\nreturn }",
                  Code::kInvalidArgument, "test.mlir:");
  };
  broken(
      "%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = "
      "tensor<, "
      "rhs_precision_type = f32> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>");
  broken(
      "%0 = stablehlo.reduce(%a init: %z) applies func.func across dimensions = [0] : (tensor<2x2xf32>, "
      "tensor<f32>) -> tensor<2xf32>");
  broken(
      "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [x, 1] : "
      "(tensor<2x2xf32>, "
      "tensor<f32>) -> tensor<2xf32>");
  broken("%0 = stablehlo.while(%i = %z) : tensor<f32>, tensor<f32> cond { } do { }");
  broken("%0 = stablehlo.constant dense<");
  broken("%0 = stablehlo.complex %z, %z : tensor<f32>");
  broken("%0 = stablehlo.reduce_precision %z, format = e5x1 : tensor<f32>");
  broken("%0 = stablehlo.add %z, %z");
  broken(
      "%0 = \"stablehlo.compare\"(%z, %z) {comparison_direction = #stablehlo<unheard LT>} : (tensor<f32>, "
      "tensor<f32>) -> tensor<i1>");
  broken(
      "%0 = stablehlo.convolution(%a, %a) dim_numbers = [b, 5]x[i, o]->[b, f], window = {} {} : "
      "(tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>");
}

TEST(Text, WhatIsNoProgramIsRefused) {
  expectRefused("func.func private @main()", Code::kInvalidArgument, "function main has no body");
  expectRefused("\"sdy.mesh\"() : () -> ()", Code::kUnimplemented,
                "an operation sdy.mesh beside its functions");
  expectRefused("func.func @main() {\n\"cf.br\"()[^next] : () -> ()\n^next:\nreturn\n}", Code::kUnimplemented,
                "a region without a block or with several ones");
  expectRefused("module { module {} }", Code::kUnimplemented, "an operation builtin.module beside");
  expectRefused("func.func @f() { return }\nfunc.func @f() { return }", Code::kInvalidArgument,
                "redefinition of symbol");
}

TEST(Text, DeepTextIsRefused) {
  const auto nested = [](std::size_t depth) {
    return "func.func @f() { \"a.b\"() {v = " + std::string(depth, '[') + std::string(depth, ']') +
           "} : () -> () return }";
  };
  EXPECT_TRUE(readText(nested(50), "test.mlir"));
  expectRefused(nested(200), Code::kUnimplemented, "attributes nested deeper than 64");
  expectRefused(nested(300), Code::kUnimplemented, "test.mlir:1:");
  expectRefused(nested(1000000), Code::kUnimplemented, "brackets nested deeper than 256");
  expectRefused(std::string(1000000, '<'), Code::kUnimplemented, "brackets nested deeper than 256");
  std::string arrows = "func.func @f() { ";
  for (int i = 0; i < 100000; ++i) arrows += "(->";
  expectRefused(arrows, Code::kUnimplemented, "brackets nested deeper than 256");
  std::string regions;
  for (int i = 0; i < 100; ++i) regions += "\"stablehlo.case\"(%i) ({ ";
  std::string ends;
  for (int i = 0; i < 100; ++i) ends += " \"stablehlo.return\"() : () -> () }) : (tensor<i32>) -> ()";
  expectRefused("func.func @f(%i: tensor<i32>) { " + regions + ends + " return }", Code::kUnimplemented,
                "regions nested deeper than 64");
}

TEST(Text, ShortTextThatSaysMuchIsRefused) {
  std::string aliases = "#a0 = [1]\n";
  for (int i = 1; i < 40; ++i)
    aliases +=
        "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + ", #a" + std::to_string(i - 1) + "]\n";
  expectRefused(aliases + "func.func @f() { \"a.b\"() {v = #a39} : () -> () return }", Code::kUnimplemented,
                "so many attributes from so few words");
  expectRefused("func.func @f() { \"a.b\"() {v = " + std::string(100000, '1') + "} : () -> () return }",
                Code::kUnimplemented, "longer than 4096 characters");
  expectRefused("func.func @f() { \"a.b\"() {v = affine_map<() -> (" + std::string(100000, '-') +
                    "1)>} : () -> () return }",
                Code::kUnimplemented, "affine maps are not served");
}

TEST(Text, LiteralsWithoutASizeAreRefused) {
  expectRefused(
      "func.func @f() { %0 = stablehlo.constant dense<0> : tensor<4294967296x4294967296xi8> return }",
      Code::kInvalidArgument, "has no known size");
  expectRefused(
      "func.func @f() { %0 = stablehlo.constant dense<\"0x\"> : tensor<4294967296x4294967296xi8> return }",
      Code::kInvalidArgument, "");
  const Program huge =
      readFine("func.func @f() { %0 = stablehlo.constant dense<7> : tensor<1000000x1000000xi8> return }");
  EXPECT_TRUE(literalAttribute(attributesOf(huge, "constant"), "value")->isSplat);
}

TEST(Text, ShorterTextIsReadOrRefused) {
  const std::string whole(test::fixture("newer.mlir").text());
  int refused = 0;
  for (std::size_t length = 0; length < whole.size(); length += 23)
    refused += !readText(std::string_view(whole).substr(0, length), "test.mlir");
  EXPECT_GT(refused, static_cast<int>(whole.size() / 23) - 10);
}

}  // namespace
}  // namespace kiln::stablehlo
