// Shapes, indices, contractions, reductions, sorts and control flow, by value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/frontend/stablehlo/run_program.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using namespace testing_support;

TEST(StablehloStructure, PadsWithGapsAndCutsOff) {
  const auto got = runText(mainOf("%x: tensor<3xf32>, %v: tensor<f32>", "tensor<5xf32>",
                                  "%0 = stablehlo.pad %x, %v, low = [-1], high = [1], interior = [1] : "
                                  "(tensor<3xf32>, tensor<f32>) -> "
                                  "tensor<5xf32>\nreturn %0 : tensor<5xf32>"),
                           {floats({3}, {1, 2, 3}), floats({}, {9})});
  EXPECT_THAT(elementsOf<float>(got), ElementsAre(9, 2, 9, 3, 9));
}

TEST(StablehloStructure, BroadcastsAlongAnyDimensions) {
  const auto got = runText(mainOf("%x: tensor<2x1xi32>", "tensor<3x2xi32>",
                                  "%0 = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<2x1xi32>) -> "
                                  "tensor<3x2xi32>\nreturn %0 : tensor<3x2xi32>"),
                           {ints({2, 1}, {5, 6})});
  EXPECT_THAT(elementsOf<std::int32_t>(got), ElementsAre(5, 6, 5, 6, 5, 6));
}

TEST(StablehloStructure, GatherClampsItsStarts) {
  const auto got = runText(
      mainOf("%x: tensor<4xi32>, %i: tensor<3x1xi32>", "tensor<3x2xi32>",
             R"(%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
                start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2>}> :
                (tensor<4xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
                return %0 : tensor<3x2xi32>)"),
      {ints({4}, {10, 11, 12, 13}), ints({3, 1}, {1, 9, -5})});
  EXPECT_THAT(elementsOf<std::int32_t>(got), ElementsAre(11, 12, 12, 13, 10, 11));
}

TEST(StablehloStructure, GatherAlongABatch) {
  const auto got = runText(
      mainOf(
          "%x: tensor<2x3xi32>, %i: tensor<2x1xi32>", "tensor<2xi32>",
          R"(%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1],
                operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1],
                index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> :
                (tensor<2x3xi32>, tensor<2x1xi32>) -> tensor<2xi32>
                return %0 : tensor<2xi32>)"),
      {ints({2, 3}, {0, 1, 2, 10, 11, 12}), ints({2, 1}, {2, 0})});
  EXPECT_THAT(elementsOf<std::int32_t>(got), ElementsAre(2, 10));
}

std::string scatter(const std::string& body, bool isUnique) {
  return mainOf("%x: tensor<4xi32>, %i: tensor<3x1xi32>, %u: tensor<3xi32>", "tensor<4xi32>",
                R"(%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
                   inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
                   unique_indices = )" +
                    std::string(isUnique ? "true" : "false") + R"(}> ({
                   ^bb0(%a: tensor<i32>, %b: tensor<i32>):
                   )" +
                    body + R"(
                   }) : (tensor<4xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<4xi32>
                   return %0 : tensor<4xi32>)");
}

TEST(StablehloStructure, ScatterLeavesOutWhatIsOutside) {
  const std::string text =
      scatter("%c = stablehlo.add %a, %b : tensor<i32> stablehlo.return %c : tensor<i32>", false);
  EXPECT_THAT(elementsOf<std::int32_t>(
                  runText(text, {ints({4}, {1, 2, 3, 4}), ints({3, 1}, {0, 0, 7}), ints({3}, {10, 20, 30})})),
              ElementsAre(31, 2, 3, 4));
}

TEST(StablehloStructure, ScatterByAnyBodyGoesInOrder) {
  const std::string body = "%c = stablehlo.subtract %b, %a : tensor<i32> stablehlo.return %c : tensor<i32>";
  // 10 - 1 = 9, then 20 - 9 = 11.
  EXPECT_THAT(elementsOf<std::int32_t>(
                  runText(scatter(body, false),
                          {ints({4}, {1, 2, 3, 4}), ints({3, 1}, {0, 0, -1}), ints({3}, {10, 20, 30})})),
              ElementsAre(11, 2, 3, 4));
  EXPECT_THAT(
      elementsOf<std::int32_t>(runText(
          scatter(body, true), {ints({4}, {1, 2, 3, 4}), ints({3, 1}, {0, 2, 9}), ints({3}, {10, 20, 30})})),
      ElementsAre(9, 2, 17, 4));
}

TEST(StablehloStructure, DynamicSlicesStayInside) {
  const auto got = runText(
      mainOf(
          "%x: tensor<4xi32>, %u: tensor<2xi32>, %s: tensor<i32>", "tensor<2xi32>, tensor<4xi32>",
          "%0 = stablehlo.dynamic_slice %x, %s, sizes = [2] : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>\n"
          "%1 = stablehlo.dynamic_update_slice %x, %u, %s : (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> "
          "tensor<4xi32>\nreturn %0, %1 : tensor<2xi32>, tensor<4xi32>"),
      {ints({4}, {1, 2, 3, 4}), ints({2}, {8, 9}), ints({}, {3})});
  EXPECT_THAT(elementsOf<std::int32_t>(got, 0), ElementsAre(3, 4));
  EXPECT_THAT(elementsOf<std::int32_t>(got, 1), ElementsAre(1, 2, 8, 9));
}

TEST(StablehloStructure, ProductsInAnyOrderOfDimensions) {
  // Batch 1, contracted 0 of the left and 2 of the right.
  const auto got = runText(
      mainOf("%a: tensor<2x1x1xf32>, %b: tensor<1x3x2xf32>", "tensor<1x1x3xf32>",
             "%0 = stablehlo.dot_general %a, %b, batching_dims = [1] x [0], contracting_dims = [0] x [2] : "
             "(tensor<2x1x1xf32>, tensor<1x3x2xf32>) -> tensor<1x1x3xf32>\nreturn %0 : tensor<1x1x3xf32>"),
      {floats({2, 1, 1}, {1, 10}), floats({1, 3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(elementsOf<float>(got), ElementsAre(21, 43, 65));
}

TEST(StablehloStructure, ConvolutionWithChannelsLastAndReversedWindow) {
  const auto got = runText(
      mainOf("%x: tensor<1x3x1xf32>, %w: tensor<2x1x1xf32>", "tensor<1x2x1xf32>",
             "%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = "
             "{reverse = "
             "[true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf32>, "
             "tensor<2x1x1xf32>) -> tensor<1x2x1xf32>\nreturn %0 : tensor<1x2x1xf32>"),
      {floats({1, 3, 1}, {1, 2, 3}), floats({2, 1, 1}, {1, 10})});
  EXPECT_THAT(elementsOf<float>(got), ElementsAre(12, 23));
}

TEST(StablehloStructure, ConvolutionWithDilatedInputAndBatchGroups) {
  const auto dilated = runText(
      mainOf("%x: tensor<1x1x2xf32>, %w: tensor<1x1x2xf32>", "tensor<1x1x2xf32>",
             "%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = "
             "{lhs_dilate = "
             "[2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x2xf32>, "
             "tensor<1x1x2xf32>) -> tensor<1x1x2xf32>\nreturn %0 : tensor<1x1x2xf32>"),
      {floats({1, 1, 2}, {1, 2}), floats({1, 1, 2}, {3, 4})});
  EXPECT_THAT(elementsOf<float>(dilated), ElementsAre(3, 8));
  const auto grouped = runText(
      mainOf("%x: tensor<2x1x1xf32>, %w: tensor<2x1x1xf32>", "tensor<1x2x1xf32>",
             "%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {} "
             "{batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x1x1xf32>, "
             "tensor<2x1x1xf32>) "
             "-> tensor<1x2x1xf32>\nreturn %0 : tensor<1x2x1xf32>"),
      {floats({2, 1, 1}, {1, 2}), floats({2, 1, 1}, {3, 5})});
  EXPECT_THAT(elementsOf<float>(grouped), ElementsAre(3, 10));
}

TEST(StablehloStructure, ReducesFromAnyStart) {
  const auto got = runText(mainOf("%x: tensor<2x3xf32>, %z: tensor<f32>", "tensor<2xf32>",
                                  "%0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across "
                                  "dimensions = [1] : (tensor<2x3xf32>, "
                                  "tensor<f32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>"),
                           {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({}, {100})});
  EXPECT_THAT(elementsOf<float>(got), ElementsAre(106, 115));
}

TEST(StablehloStructure, ReducesByAnyBodyInOrder) {
  // The last of five: the order must be kept.
  const auto got =
      runText(mainOf("%x: tensor<5xi32>, %y: tensor<5xi32>, %z: tensor<i32>", "tensor<i32>, tensor<i32>",
                     R"(%0:2 = stablehlo.reduce(%x init: %z), (%y init: %z) across dimensions = [0] :
                (tensor<5xi32>, tensor<5xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
                reducer(%a: tensor<i32>, %b: tensor<i32>) (%c: tensor<i32>, %d: tensor<i32>) {
                  %m = stablehlo.maximum %a, %b : tensor<i32>
                  stablehlo.return %m, %d : tensor<i32>, tensor<i32>
                }
                return %0#0, %0#1 : tensor<i32>, tensor<i32>)"),
              {ints({5}, {3, 9, 1, 4, 2}), ints({5}, {10, 11, 12, 13, 14}), ints({}, {0})});
  EXPECT_THAT(elementsOf<std::int32_t>(got, 0), ElementsAre(9));
  EXPECT_THAT(elementsOf<std::int32_t>(got, 1), ElementsAre(14));
}

std::string window(const std::string& operation, const std::string& attributes, const std::string& result) {
  return mainOf(
      "%x: tensor<11xi32>, %z: tensor<i32>", result,
      "%0 = \"stablehlo.reduce_window\"(%x, %z) <{" + attributes +
          "}> ({\n^bb0(%a: tensor<i32>, %b: tensor<i32>):\n%c = stablehlo." + operation +
          " %a, %b : tensor<i32> stablehlo.return %c : tensor<i32>\n}) : (tensor<11xi32>, tensor<i32>) -> " +
          result + "\nreturn %0 : " + result);
}

TEST(StablehloStructure, SlidesWindowsShortAndLong) {
  const HostTensor values = ints({11}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_THAT(
      elementsOf<std::int32_t>(runText(
          window("add", "window_dimensions = array<i64: 2>, window_strides = array<i64: 3>", "tensor<4xi32>"),
          {values, ints({}, {0})})),
      ElementsAre(3, 9, 15, 21));
  // Ten elements, made of eight and two; the start counts once.
  EXPECT_THAT(
      elementsOf<std::int32_t>(runText(window("add", "window_dimensions = array<i64: 10>", "tensor<2xi32>"),
                                       {values, ints({}, {1})})),
      ElementsAre(56, 66));
  EXPECT_THAT(
      elementsOf<std::int32_t>(runText(
          window("minimum", "window_dimensions = array<i64: 9>, padding = dense<[[8, 0]]> : tensor<1x2xi64>",
                 "tensor<11xi32>"),
          {values, ints({}, {100})})),
      ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3));
}

TEST(StablehloStructure, SelectsTheFirstOfEqualsAndScatters) {
  const auto got =
      runText(mainOf("%x: tensor<4xi32>, %s: tensor<2xi32>, %z: tensor<i32>", "tensor<4xi32>",
                     R"(%0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 3>,
                window_strides = array<i64: 2>, padding = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
                ^bb0(%a: tensor<i32>, %b: tensor<i32>):
                  %c = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
                  stablehlo.return %c : tensor<i1>
                }, {
                ^bb0(%a: tensor<i32>, %b: tensor<i32>):
                  %c = stablehlo.add %a, %b : tensor<i32>
                  stablehlo.return %c : tensor<i32>
                }) : (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
                return %0 : tensor<4xi32>)"),
              {ints({4}, {5, 5, 2, -7}), ints({2}, {10, 20}), ints({}, {1})});
  EXPECT_THAT(elementsOf<std::int32_t>(got), ElementsAre(11, 1, 21, 1));
}

std::string sorted(const std::string& comparator) {
  return mainOf("%x: tensor<5xi32>, %y: tensor<5xi32>", "tensor<5xi32>, tensor<5xi32>",
                R"(%0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
                   ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
                   )" +
                    comparator + R"(
                   }) : (tensor<5xi32>, tensor<5xi32>) -> (tensor<5xi32>, tensor<5xi32>)
                   return %0#0, %0#1 : tensor<5xi32>, tensor<5xi32>)");
}

TEST(StablehloStructure, SortsByKnownAndUnknownComparators) {
  const std::vector<HostTensor> values{ints({5}, {3, 1, 3, 2, 1}), ints({5}, {9, 8, 7, 6, 5})};
  const std::string descending =
      "%r = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %r : "
      "tensor<i1>";
  EXPECT_THAT(elementsOf<std::int32_t>(runText(sorted(descending), values), 1), ElementsAre(9, 7, 6, 8, 5));
  const std::string lexicographic =
      "%l = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "%e = stablehlo.compare EQ, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "%m = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "%n = stablehlo.and %e, %m : tensor<i1>\n%r = stablehlo.or %l, %n : tensor<i1> stablehlo.return %r : "
      "tensor<i1>";
  EXPECT_THAT(elementsOf<std::int32_t>(runText(sorted(lexicographic), values), 1),
              ElementsAre(5, 8, 6, 7, 9));
  // By the sum of both: no key of one operand.
  const std::string bySum =
      "%s = stablehlo.add %a, %c : tensor<i32>\n%t = stablehlo.add %b, %d : tensor<i32>\n"
      "%u = stablehlo.multiply %s, %s : tensor<i32>\n%v = stablehlo.multiply %t, %t : tensor<i32>\n"
      "%w = stablehlo.compare GE, %u, %v : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "%r = stablehlo.not %w : tensor<i1> stablehlo.return %r : tensor<i1>";
  EXPECT_THAT(elementsOf<std::int32_t>(runText(sorted(bySum), values), 1), ElementsAre(5, 6, 8, 7, 9));
}

TEST(StablehloStructure, LargestElementsAndWhereTheyAre) {
  const auto got = runText(
      mainOf("%x: tensor<2x3xf32>", "tensor<2x2xf32>, tensor<2x2xi32>",
             "%0, %1 = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)\n"
             "return %0, %1 : tensor<2x2xf32>, tensor<2x2xi32>"),
      {floats({2, 3}, {1, 3, 2, 7, 7, -1})});
  EXPECT_THAT(elementsOf<float>(got, 0), ElementsAre(3, 2, 7, 7));
  EXPECT_THAT(elementsOf<std::int32_t>(got, 1), ElementsAre(1, 2, 0, 1));
}

TEST(StablehloStructure, SolvesTriangularSystems) {
  // x a^T = b with the lower triangle {{2, 0}, {1, 4}}; what is above it is not looked at.
  const auto got =
      runText(mainOf("%a: tensor<2x2xf32>, %b: tensor<1x2xf32>", "tensor<1x2xf32>",
                     R"(%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true,
                transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> :
                (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
                return %0 : tensor<1x2xf32>)"),
              {floats({2, 2}, {2, 99, 1, 4}), floats({1, 2}, {6, 11})});
  EXPECT_THAT(elementsOf<float>(got), ElementsAre(3, 2));
}

TEST(StablehloStructure, FactorsOfEitherTriangle) {
  for (const bool isLower : {true, false}) {
    const auto got = runText(
        mainOf("%a: tensor<2x2xf32>", "tensor<2x2xf32>",
               "%0 = stablehlo.cholesky %a, lower = " + std::string(isLower ? "true" : "false") +
                   " : tensor<2x2xf32>\nreturn %0 : tensor<2x2xf32>"),
        {floats({2, 2}, isLower ? std::vector<float>{4, 99, 2, 10} : std::vector<float>{4, 2, 99, 10})});
    EXPECT_THAT(elementsOf<float>(got), isLower ? ElementsAre(2, 0, 1, 3) : ElementsAre(2, 1, 0, 3));
  }
}

constexpr const char* kCounting = R"(
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %sum = %zero, %step = %s) : tensor<i32>, tensor<i32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.add %sum, %step : tensor<i32>
    stablehlo.return %j, %t, %step : tensor<i32>, tensor<i32>, tensor<i32>
  }
  return %0#1 : tensor<i32>)";

TEST(StablehloStructure, WhileTestsFirst) {
  const std::string text = mainOf("%n: tensor<i32>, %s: tensor<i32>", "tensor<i32>", kCounting);
  EXPECT_THAT(elementsOf<std::int32_t>(runText(text, {ints({}, {4}), ints({}, {3})})), ElementsAre(12));
  EXPECT_THAT(elementsOf<std::int32_t>(runText(text, {ints({}, {0}), ints({}, {3})})), ElementsAre(0));
}

TEST(StablehloStructure, ACaseThatIsNoneTakesTheLastBranch) {
  const std::string text = mainOf("%i: tensor<i32>, %x: tensor<i32>", "tensor<i32>",
                                  R"(%0 = "stablehlo.case"(%i) ({
           stablehlo.return %x : tensor<i32>
         }, {
           %a = stablehlo.negate %x : tensor<i32>
           stablehlo.return %a : tensor<i32>
         }) : (tensor<i32>) -> tensor<i32>
         return %0 : tensor<i32>)");
  for (auto [index, wanted] : {std::pair{0, 5}, {1, -5}, {7, -5}, {-3, -5}})
    EXPECT_THAT(elementsOf<std::int32_t>(runText(text, {ints({}, {index}), ints({}, {5})})),
                ElementsAre(wanted));
}

TEST(StablehloStructure, InlinesFunctionsAndComposites) {
  const auto got = runText(mainOf("%x: tensor<2xi32>", "tensor<2xi32>",
                                  "%0 = func.call @twice(%x) : (tensor<2xi32>) -> tensor<2xi32>\n"
                                  "%1 = stablehlo.composite \"my.op\" %0 {decomposition = @twice} : "
                                  "(tensor<2xi32>) -> tensor<2xi32>\n"
                                  "return %1 : tensor<2xi32>",
                                  "func.func private @twice(%a: tensor<2xi32>) -> tensor<2xi32> {\n%0 = "
                                  "stablehlo.add %a, %a : tensor<2xi32> "
                                  "return %0 : tensor<2xi32>\n}"),
                           {ints({2}, {1, 3})});
  EXPECT_THAT(elementsOf<std::int32_t>(got), ElementsAre(4, 12));
}

TEST(StablehloStructure, NamesInputsAndOutputs) {
  auto made = importText(
      "func.func public @main(%a: tensor<f32> loc(\"weights['w']\"), %b: tensor<f32>) -> (tensor<f32> "
      "{jax.result_info = "
      "\"['loss']\"}, tensor<f32>) {\nreturn %b, %a : tensor<f32>, tensor<f32>\n}");
  ASSERT_TRUE(made) << made.error().message;
  const frontend::Captured& captured = (*made)->captured;
  ASSERT_EQ(captured.inputs.size(), 2u);
  EXPECT_EQ(captured.inputs[0].name, "weights['w']");
  EXPECT_EQ(captured.inputs[1].name, "arg1");
  EXPECT_EQ(captured.outputs[0].name, "result['loss']");
  EXPECT_EQ(captured.outputs[1].name, "result1");
}

}  // namespace
}  // namespace kiln
