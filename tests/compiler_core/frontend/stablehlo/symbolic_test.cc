// Programs whose sizes only a run gives, as JAX writes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler_core/frontend/graph/size_ranges.h"
#include "compiler_core/frontend/stablehlo/import/entry_arguments.h"
#include "compiler_core/transforms/specialise.h"
#include "tests/compiler_core/frontend/stablehlo/run_program.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;
using Ranges = std::map<std::string, analysis::DimBounds>;

frontend::ImportOptions ranged(Ranges ranges) {
  frontend::ImportOptions options;
  options.ranges = std::move(ranges);
  return options;
}

Error errorOf(const std::string& text, const Ranges& ranges) {
  auto made = importText(text, ranged(ranges));
  return made ? Error{Code::kUnknown, "imported", {}} : made.error();
}

Result<std::vector<HostTensor>> runRanged(const std::string& text, const Ranges& ranges,
                                          const std::vector<HostTensor>& inputs) {
  KILN_ASSIGN(const auto made, importText(text, ranged(ranges)));
  // Made for all sizes, run at those of the inputs.
  llvm::SmallVector<ir::SymbolRange> sizes;
  for (const ir::Symbol& symbol : made->captured.symbols)
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (made->captured.inputs[i].name != symbol.input) continue;
      const std::int64_t size = inputs[i].shape[static_cast<std::size_t>(symbol.index)] / symbol.multiple;
      sizes.push_back({size, size, size});
    }
  transforms::specialise(*made->captured.module, sizes);
  return reference::evaluate(*made->captured.module, made->captured.weights, inputs);
}

// What jax.export puts around a function of x (b, s) and y (b, t): the sizes of the arguments, that they
// agree, and that s is 8 at most.
constexpr std::string_view kWrapped = R"(
func.func public @main(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c8 = stablehlo.constant dense<8> : tensor<i32>
  %b = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>
  %s = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
  %b2 = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>
  %same = stablehlo.compare EQ, %b2, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%same, %b2, %b) {api_version = 2 : i32, error_message = "{0} is not {1}",
    has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
  %few = stablehlo.compare LE, %s, %c8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%few, %s) {api_version = 2 : i32, error_message = "s<=8, but it is {0} {x",
    has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %r = call @inner(%b, %s, %x, %y) : (tensor<i32>, tensor<i32>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
func.func private @inner(%b: tensor<i32> {jax.global_constant = "b"}, %s: tensor<i32> {jax.global_constant = "s"},
    %x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
})";

TEST(StablehloSymbolic, SizesHaveTheNamesThatJaxGivesThem) {
  const auto made =
      importText(std::string(kWrapped), ranged({{"b", {1, 4}}, {"s", {2, 8}}, {"arg1.1", {1, 3}}}));
  ASSERT_TRUE(made) << made.error().message;
  const frontend::Captured& captured = (*made)->captured;
  ASSERT_EQ(captured.inputs.size(), 2u);
  EXPECT_THAT(captured.inputs[0].dimNames, ElementsAre("b", "s"));
  // The same size by what the program asserts, and one without a name of its own.
  EXPECT_THAT(captured.inputs[1].dimNames, ElementsAre("b", "arg1.1"));
  EXPECT_THAT(captured.outputs[0].dimNames, ElementsAre("b", "s + arg1.1"));
  ASSERT_EQ(captured.symbols.size(), 3u);
  EXPECT_EQ(captured.symbols[0].name, "b");
}

TEST(StablehloSymbolic, OneModuleRunsAtSeveralSizes) {
  const Ranges ranges{{"b", {1, 4}}, {"s", {2, 8}}, {"arg1.1", {1, 3}}};
  const std::string text(kWrapped);
  EXPECT_THAT(elementsOf<float>(runRanged(text, ranges, {floats({1, 2}, {1, 2}), floats({1, 1}, {3})})),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(elementsOf<float>(
                  runRanged(text, ranges, {floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {5, 6, 7, 8})})),
              ElementsAre(1, 2, 5, 6, 3, 4, 7, 8));
}

TEST(StablehloSymbolic, ProfilesThatAnAssertionForbidsAreRefusedWithItsWords) {
  const std::string text(kWrapped);
  const Error wide = errorOf(text, {{"b", {1, 4}}, {"s", {2, 9}}, {"arg1.1", {1, 3}}});
  EXPECT_EQ(wide.code, Code::kFailedPrecondition);
  EXPECT_THAT(wide.message, HasSubstr("s<=8, but it is s (2 to 9) {x"));
  frontend::ImportOptions fixed;
  fixed.dims = {{"b", 1}, {"s", 9}, {"arg1.1", 1}};
  const auto never = importText(text, fixed);
  ASSERT_FALSE(never);
  EXPECT_THAT(never.error().message,
              HasSubstr("asserts against the sizes that the profile gives: s<=8, but it is 9"));
}

TEST(StablehloSymbolic, ADimensionThatNoProfileGivesIsNamed) {
  const Error error = errorOf(std::string(kWrapped), {{"s", {2, 8}}});
  EXPECT_EQ(error.code, Code::kUnimplemented);
  EXPECT_THAT(error.message, HasSubstr("symbolic dimension 'b'"));
}

// Of %x: tensor<?x4xf32>, whose first size is called arg0.0; %n is that size.
std::string sized(const std::string& result, const std::string& body) {
  return mainOf("%x: tensor<?x4xf32>", result,
                "%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>\n"
                "%n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
                "%c1 = stablehlo.constant dense<1> : tensor<i32>\n"
                "%c2 = stablehlo.constant dense<2> : tensor<i32>\n"
                "%four = stablehlo.constant dense<4> : tensor<1xi32>\n"
                "%one = stablehlo.constant dense<1> : tensor<1xi32>\n" +
                    body + "\nreturn %r : " + result);
}

TEST(StablehloSymbolic, ShapesFollowFromArithmeticOnSizes) {
  // The larger half, through a function that rounds down as JAX's floor_divide does.
  const std::string text =
      sized("tensor<?xi32>",
            "%p = stablehlo.add %n, %c1 : tensor<i32>\n"
            "%h = call @floor_divide(%p, %c2) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
            "%h1 = stablehlo.reshape %h : (tensor<i32>) -> tensor<1xi32>\n"
            "%r = stablehlo.dynamic_iota %h1, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>") +
      R"(
func.func private @floor_divide(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %q = stablehlo.divide %a, %b : tensor<i32>
  %sa = stablehlo.sign %a : tensor<i32>
  %sb = stablehlo.sign %b : tensor<i32>
  %differ = stablehlo.compare NE, %sa, %sb, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %rest = stablehlo.remainder %a, %b : tensor<i32>
  %some = stablehlo.compare NE, %rest, %c0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %both = stablehlo.and %differ, %some : tensor<i1>
  %less = stablehlo.subtract %q, %c1 : tensor<i32>
  %r = stablehlo.select %both, %less, %q : tensor<i1>, tensor<i32>
  return %r : tensor<i32>
})";
  const Ranges ranges{{"arg0.0", {1, 9}}};
  const auto got = runRanged(text, ranges, {floats({5, 4}, std::vector<float>(20, 1))});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_THAT(elementsOf<std::int32_t>(got), ElementsAre(0, 1, 2));
}

TEST(StablehloSymbolic, SlicesBroadcastsAndReshapesWithSizes) {
  const Ranges ranges{{"arg0.0", {2, 9}}};
  const std::string slice = sized(
      "tensor<?x1xf32>",
      "%m = stablehlo.subtract %n, %c1 : tensor<i32>\n"
      "%m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>\n"
      "%z = stablehlo.constant dense<0> : tensor<1xi32>\n"
      "%from = stablehlo.concatenate %z, %z, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
      "%to = stablehlo.concatenate %m1, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
      "%by = stablehlo.constant dense<1> : tensor<2xi32>\n"
      "%r = stablehlo.real_dynamic_slice %x, %from, %to, %by : (tensor<?x4xf32>, tensor<2xi32>, "
      "tensor<2xi32>, "
      "tensor<2xi32>) -> tensor<?x1xf32>");
  const HostTensor x = floats({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_THAT(elementsOf<float>(runRanged(slice, ranges, {x})), ElementsAre(0, 4));
  const std::string reshape =
      sized("tensor<?xf32>",
            "%k = stablehlo.multiply %n1, %four : tensor<1xi32>\n"
            "%r = stablehlo.dynamic_reshape %x, %k : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?xf32>");
  EXPECT_EQ(elementsOf<float>(runRanged(reshape, ranges, {x})).size(), 12u);
  const std::string repeated = sized(
      "tensor<?x4xf32>",
      "%v = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
      "%e = stablehlo.concatenate %n1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
      "%w = stablehlo.dynamic_broadcast_in_dim %v, %e, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> "
      "tensor<?x4xf32>\n%r = stablehlo.add %x, %w : tensor<?x4xf32>");
  EXPECT_THAT(elementsOf<float>(runRanged(repeated, ranges, {x})),
              ElementsAre(1, 3, 5, 7, 5, 7, 9, 11, 9, 11, 13, 15));
}

TEST(StablehloSymbolic, ASliceOfKnownLengthBeginsWhereARunSays) {
  const std::string text = mainOf(
      "%x: tensor<?xf32>, %i: tensor<1xi32>", "tensor<2xf32>",
      "%two = stablehlo.constant dense<2> : tensor<1xi32>\n%one = stablehlo.constant dense<1> : "
      "tensor<1xi32>\n"
      "%to = stablehlo.add %i, %two : tensor<1xi32>\n"
      "%r = stablehlo.real_dynamic_slice %x, %i, %to, %one : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, "
      "tensor<1xi32>) -> tensor<2xf32>\nreturn %r : tensor<2xf32>");
  EXPECT_THAT(elementsOf<float>(
                  runRanged(text, {{"arg0.0", {2, 9}}}, {floats({5}, {0, 1, 2, 3, 4}), ints({1}, {3})})),
              ElementsAre(3, 4));
}

TEST(StablehloSymbolic, RunningSumsOverASymbolicDimension) {
  const std::string text =
      sized("tensor<?x4xf32>",
            "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
            "%before = stablehlo.subtract %n1, %one : tensor<1xi32>\n"
            "%z = stablehlo.constant dense<0> : tensor<1xi32>\n"
            "%size = stablehlo.concatenate %n1, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> "
            "tensor<2xi32>\n"
            "%ones = stablehlo.constant dense<1> : tensor<2xi32>\n"
            "%f = stablehlo.concatenate %before, %z, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> "
            "tensor<2xi32>\n"
            "%row = stablehlo.reshape %f : (tensor<2xi32>) -> tensor<1x2xi32>\n"
            "%none = stablehlo.constant dense<0> : tensor<1x2xi32>\n"
            "%pad = stablehlo.concatenate %row, %none, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>) -> "
            "tensor<2x2xi32>\n"
            "%r = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %size, %ones, %ones, "
            "%ones, "
            "%pad) {called_computations = [@add]} : (tensor<?x4xf32>, tensor<f32>, tensor<2xi32>, "
            "tensor<2xi32>, "
            "tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<?x4xf32>") +
      "\nfunc.func @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {\n"
      "%0 = stablehlo.add %a, %b : tensor<f32>\nreturn %0 : tensor<f32>\n}";
  const auto got = runRanged(text, {{"arg0.0", {1, 9}}}, {floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_THAT(elementsOf<float>(got), ElementsAre(1, 2, 3, 4, 6, 8, 10, 12));
}

TEST(StablehloSymbolic, SizesThatMayDifferAreRefused) {
  const Error error = errorOf(mainOf("%x: tensor<?xf32>, %y: tensor<?xf32>", "tensor<?xf32>",
                                     "%0 = stablehlo.add %x, %y : tensor<?xf32>\nreturn %0 : tensor<?xf32>"),
                              {{"arg0.0", {1, 4}}, {"arg1.0", {1, 4}}});
  EXPECT_EQ(error.code, Code::kUnimplemented);
  EXPECT_THAT(error.message, HasSubstr("whether the extents arg1.0 and arg0.0 are the same"));
}

TEST(StablehloSymbolic, OperationsThatNeedNumbersSaySo) {
  const Error error = errorOf(
      mainOf("%x: tensor<?x3x3xf32>", "tensor<?x3x3xf32>",
             "%0 = stablehlo.cholesky %x, lower = true : tensor<?x3x3xf32>\nreturn %0 : tensor<?x3x3xf32>"),
      {{"arg0.0", {1, 4}}});
  EXPECT_EQ(error.code, Code::kUnimplemented);
  EXPECT_THAT(error.message, HasSubstr("the size of an operand, of f32[arg0.0,3,3], is not known"));
}

TEST(StablehloSymbolic, ThePositionOfTheLargestAlongASymbolicDimension) {
  const std::string text = sized(
      "tensor<4xi32>",
      "%e = stablehlo.concatenate %n1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
      "%p = stablehlo.dynamic_iota %e, dim = 0 : (tensor<2xi32>) -> tensor<?x4xi32>\n"
      "%least = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
      "%zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "%v, %r = stablehlo.reduce(%x init: %least), (%p init: %zero) across dimensions = [0] : "
      "(tensor<?x4xf32>, "
      "tensor<?x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)\n"
      "reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {\n"
      "%0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "%1 = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "%2 = stablehlo.or %0, %1 : tensor<i1>\n"
      "%3 = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "%4 = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "%5 = stablehlo.and %3, %4 : tensor<i1>\n%6 = stablehlo.or %2, %5 : tensor<i1>\n"
      "%7 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>\n"
      "%8 = stablehlo.select %6, %i, %j : tensor<i1>, tensor<i32>\n"
      "stablehlo.return %7, %8 : tensor<f32>, tensor<i32>\n}");
  const auto got =
      runRanged(text, {{"arg0.0", {1, 9}}},
                {floats({3, 4}, {1, NAN, 3, -HUGE_VAL, 2, NAN, 3, -HUGE_VAL, 0, 9, 1, -HUGE_VAL})});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_THAT(elementsOf<std::int32_t>(got), ElementsAre(1, 0, 0, 0));
}

// Each term alone may be anything between the ends of its range.
TEST(StablehloSymbolic, RangesOfSizesThatAreRoundedDownAreClose) {
  const auto made = importText(mainOf("%x: tensor<?xf32>", "tensor<?xf32>", "return %x : tensor<?xf32>"),
                               ranged({{"arg0.0", {2, 9}}}));
  ASSERT_TRUE(made) << made.error().message;
  mlir::Operation* module = *(*made)->captured.module;
  const ir::Dim n = ir::Dim::symbol(module->getContext(), 0);
  EXPECT_EQ(frontend::rangeOf(n - *ir::floorDiv(n, 2), module), (ir::Range{1, 5}));
  EXPECT_EQ(frontend::rangeOf(n - *ir::floorDiv(n, 2) * 2, module), (ir::Range{0, 1}));
  const ir::Dim quarter = *ir::floorDiv(*ir::floorDiv(n, 2) + 1, 2);
  EXPECT_GE(frontend::rangeOf(n - quarter, module)->min, 0);
  EXPECT_EQ(frontend::rangeOf(ir::Dim::symbol(module->getContext(), 7), module), std::nullopt);
}

TEST(StablehloSymbolic, TheFirstHalfLiesInside) {
  const std::string text = sized(
      "tensor<?x4xf32>",
      "%h = stablehlo.divide %n, %c2 : tensor<i32>\n%h1 = stablehlo.reshape %h : (tensor<i32>) -> "
      "tensor<1xi32>\n"
      "%z = stablehlo.constant dense<0> : tensor<2xi32>\n%by = stablehlo.constant dense<1> : tensor<2xi32>\n"
      "%to = stablehlo.concatenate %h1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
      "%r = stablehlo.real_dynamic_slice %x, %z, %to, %by : (tensor<?x4xf32>, tensor<2xi32>, tensor<2xi32>, "
      "tensor<2xi32>) -> tensor<?x4xf32>");
  const auto got = runRanged(text, {{"arg0.0", {2, 9}}}, {floats({3, 4}, std::vector<float>(12, 1))});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(elementsOf<float>(got).size(), 4u);
}

TEST(StablehloSymbolic, ASizeWithoutWhatItIsTheSizeOfIsRefused) {
  const Error error = errorOf(mainOf("%b: tensor<i32> {jax.global_constant = \"b\"}, %x: tensor<?xf32>",
                                     "tensor<?xf32>", "return %x : tensor<?xf32>"),
                              {{"arg1.0", {1, 4}}});
  EXPECT_EQ(error.code, Code::kUnimplemented);
  EXPECT_THAT(error.message, HasSubstr("it is the size 'b'"));
}

TEST(StablehloSymbolic, ThePlatformIsTheProcessor) {
  stablehlo::Program program;
  stablehlo::EntryArgument index{"", "_platform_index", {}, "_platform_index"};
  EXPECT_EQ(stablehlo::platformIndex(program, index), std::nullopt);
  program.platforms = {"cuda", "cpu"};
  EXPECT_EQ(stablehlo::platformIndex(program, index), 1);
  EXPECT_EQ(stablehlo::platformIndex(program, {"x", "x", {}, ""}), std::nullopt);
}

}  // namespace
}  // namespace kiln
