// Indices outside their dimension: refused where they are known, else counted by the graph itself, node by
// node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/analysis/padding.h"
#include "compiler_core/ir/index_checks.h"
#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace testing_support;
using Longs = std::vector<std::int64_t>;

std::vector<std::string> checksOf(TestModel& model) {
  return ir::indexChecksOf(model.captured.module->lookupSymbol<mlir::func::FuncOp>(ir::kMain));
}

std::vector<std::string> checksOf(const OnnxBuilder& builder) {
  auto model = import(builder.build());
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  return model ? checksOf(**model) : std::vector<std::string>{"not imported"};
}

// What a run counts, by node.
Longs counted(const OnnxBuilder& builder, const std::vector<HostTensor>& inputs) {
  EXPECT_FALSE(checksOf(builder).empty());
  const auto results = run(builder, inputs);
  EXPECT_TRUE(results) << (results ? "" : results.error().message);
  if (!results) return {};
  const HostTensor& counts = results->back();
  EXPECT_EQ(counts.dtype, DType::kI64);
  return {counts.data<std::int64_t>(), counts.data<std::int64_t>() + counts.elements()};
}

HostTensor truth(bool value) {
  return HostTensor::of(DType::kBool, {}, std::vector<std::uint8_t>{value});
}

OnnxBuilder gather(const OnnxDim& rows, const std::vector<OnnxDim>& indices, int type = kOnnxInt64) {
  OnnxBuilder model;
  model.input("x", {rows, 2}).input("i", indices, type).output("y");
  return model.node("Gather", {"x", "i"}, {"y"}, {}, "rows");
}

TEST(IndexChecks, GatherCountsWhatOnnxCallsAnError) {
  const HostTensor x = floats({3, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(checksOf(gather(3, {6})), ElementsAre("rows"));
  EXPECT_THAT(counted(gather(3, {6}), {x, longs({6}, {0, 2, -3, -1, 1, 0})}), ElementsAre(0));
  EXPECT_THAT(counted(gather(3, {6}), {x, longs({6}, {3, -4, 0, INT64_MAX, INT64_MIN, 2})}), ElementsAre(4));
  EXPECT_THAT(counted(gather(3, {}), {x, longs({}, {7})}), ElementsAre(1));
  EXPECT_THAT(counted(gather(3, {2}, kOnnxInt32),
                      {x, HostTensor::of(DType::kI32, {2}, std::vector<std::int32_t>{-3, 3})}),
              ElementsAre(1));
}

OnnxBuilder indexed(const std::string& op, const std::vector<OnnxDim>& indices,
                    const std::vector<OnnxDim>& updates = {}) {
  OnnxBuilder model(updates.empty() ? 17 : 16);
  model.input("x", {2, 3}).input("i", indices, kOnnxInt64).output("y");
  if (updates.empty()) return model.node(op, {"x", "i"}, {"y"}, {}, "it");
  return model.input("u", updates).node(op, {"x", "i", "u"}, {"y"}, {}, "it");
}

TEST(IndexChecks, EveryOperatorThatIndexesCounts) {
  const HostTensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(counted(indexed("GatherElements", {1, 3}), {x, longs({1, 3}, {2, -2, -3})}), ElementsAre(2));
  EXPECT_THAT(counted(indexed("GatherND", {2, 2}), {x, longs({2, 2}, {0, 3, -3, -4})}), ElementsAre(3));
  EXPECT_THAT(counted(indexed("ScatterElements", {1, 3}, {1, 3}),
                      {x, longs({1, 3}, {1, 2, -3}), floats({1, 3}, {7, 8, 9})}),
              ElementsAre(2));
  EXPECT_THAT(counted(indexed("ScatterND", {2, 1}, {2, 3}),
                      {x, longs({2, 1}, {2, -2}), floats({2, 3}, {7, 8, 9, 7, 8, 9})}),
              ElementsAre(1));
  OnnxBuilder old(9);
  old.input("x", {2, 3}).input("i", {1, 1}, kOnnxInt64).input("u", {1, 1}).output("y");
  old.node("Scatter", {"x", "i", "u"}, {"y"}, {}, "it");
  EXPECT_THAT(counted(old, {x, longs({1, 1}, {-3}), floats({1, 1}, {7})}), ElementsAre(1));
  OnnxBuilder cache(24);
  cache.input("x", {1, 3, 1}).input("u", {1, 2, 1}).input("at", {1}, kOnnxInt64).output("y");
  cache.node("TensorScatter", {"x", "u", "at"}, {"y"}, {}, "it");
  EXPECT_THAT(counted(cache, {floats({1, 3, 1}, {0, 1, 2}), floats({1, 2, 1}, {8, 9}), longs({1}, {2})}),
              ElementsAre(1));
  OnnxBuilder unpool(11);
  unpool.input("x", {1, 1, 1, 1}).input("i", {1, 1, 1, 1}, kOnnxInt64).output("y");
  unpool.node("MaxUnpool", {"x", "i"}, {"y"}, {onnxInts("kernel_shape", {2, 2})}, "it");
  EXPECT_THAT(counted(unpool, {floats({1, 1, 1, 1}, {5}), longs({1, 1, 1, 1}, {4})}), ElementsAre(1));
}

OnnxBuilder constantGather(const std::vector<std::int64_t>& indices, const OnnxDim& rows = 3) {
  OnnxBuilder model;
  model.input("x", {rows, 2}).output("y");
  model.initializer(onnxTensor("i", {static_cast<std::int64_t>(indices.size())}, indices));
  return model.node("Gather", {"x", "i"}, {"y"}, {}, "rows");
}

TEST(IndexChecks, WhatIsKnownIsNotCounted) {
  EXPECT_THAT(checksOf(constantGather({0, 2, -3})), IsEmpty());
  EXPECT_THAT(checksOf(constantGather(Longs(1000, 2))), IsEmpty()) << "a splat";
  Longs table;
  for (std::int64_t i = 0; i < 1000; ++i) table.push_back(i % 6 - 3);
  EXPECT_THAT(checksOf(constantGather(table)), IsEmpty()) << "a weight";
  const auto outside = import(constantGather({0, 3}).build());
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, Code::kInvalidArgument);
  EXPECT_THAT(outside.error().message, HasSubstr("'rows'"));
  EXPECT_THAT(outside.error().message, HasSubstr("index 3 is outside the dimension of 3"));
  table[77] = 3;
  const auto weight = import(constantGather(table).build());
  ASSERT_FALSE(weight);
  EXPECT_THAT(weight.error().message, HasSubstr("index 3 is outside the dimension of 3"));
  OnnxBuilder scatter(16);
  scatter.input("x", {2, 3}).input("u", {1, 3}).output("y");
  scatter.initializer(onnxTensor("i", {1, 1}, Longs{-3}));
  scatter.node("ScatterND", {"x", "i", "u"}, {"y"}, {}, "it");
  const auto known = import(scatter.build());
  ASSERT_FALSE(known) << "known for every operator";
  EXPECT_EQ(known.error().code, Code::kInvalidArgument);
}

ProtoMessage intTable(const std::vector<std::int32_t>& values) {
  ProtoMessage tensor;
  tensor.varint(1, values.size()).varint(2, kOnnxInt32).text(8, "i");
  return tensor.text(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]});
}

TEST(IndexChecks, AWeightOf32BitsIsKnownToo) {
  const auto gathered = [](const std::vector<std::int32_t>& table) {
    OnnxBuilder model;
    model.input("x", {3, 2}).output("y").initializer(intTable(table));
    return import(model.node("Gather", {"x", "i"}, {"y"}, {}, "rows").build());
  };
  std::vector<std::int32_t> table;
  for (std::int32_t i = 0; i < 1000; ++i) table.push_back(i % 6 - 3);
  const auto inside = gathered(table);
  ASSERT_TRUE(inside) << inside.error().message;
  EXPECT_THAT(checksOf(**inside), IsEmpty());
  for (const auto& [place, index] : {std::pair{0, -4}, {999, 3}}) {
    auto wrong = table;
    wrong[static_cast<std::size_t>(place)] = index;
    const auto outside = gathered(wrong);
    ASSERT_FALSE(outside) << index;
    EXPECT_THAT(outside.error().message, HasSubstr("index " + std::to_string(index) + " is outside"));
  }
}

// However far: no sum of it with an extent overflows into one that is inside or open.
TEST(IndexChecks, FarIndicesAreOutside) {
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  for (const std::int64_t index : {kFar, -kFar, kFar + 1, -kFar - 1, INT64_MAX, INT64_MIN}) {
    const std::string part = "index " + std::to_string(index) + " is outside the dimension";
    const auto known = import(constantGather({index}).build());
    ASSERT_FALSE(known) << index;
    EXPECT_THAT(known.error().message, HasSubstr(part));
    const auto ranged = importRanged(constantGather({index}, "N").build(), {{"N", {5, 9}}});
    ASSERT_FALSE(ranged) << index;
    EXPECT_THAT(ranged.error().message, HasSubstr(part));
  }
}

TEST(IndexChecks, RangesOfDimensionsDecide) {
  const std::string model = constantGather({4}, "N").build();
  auto always = importRanged(model, {{"N", {5, 9}}});
  ASSERT_TRUE(always) << always.error().message;
  EXPECT_THAT(checksOf(**always), IsEmpty());
  auto sometimes = importRanged(model, {{"N", {4, 9}}});
  ASSERT_TRUE(sometimes) << sometimes.error().message;
  EXPECT_THAT(checksOf(**sometimes), ElementsAre("rows"));
  auto never = importRanged(model, {{"N", {2, 4}}});
  ASSERT_FALSE(never);
  EXPECT_THAT(never.error().message, HasSubstr("index 4 is outside the dimension"));
}

// The last row, counted from an extent.
TEST(IndexChecks, IndicesMadeOfExtentsAreKnown) {
  OnnxBuilder model;
  model.input("x", {"N", 2}).output("y");
  model.initializer(onnxTensor("one", {}, Longs{1})).initializer(onnxTensor("zero", {}, Longs{0}));
  model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "zero"}, {"n"});
  model.node("Sub", {"n", "one"}, {"last"}).node("Gather", {"x", "last"}, {"y"});
  auto made = importRanged(model.build(), {{"N", {1, 9}}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(checksOf(**made), IsEmpty());
}

// N times so much that it is beyond every range, as its difference from N is.
TEST(IndexChecks, WhatNoRangeHoldsIsCounted) {
  OnnxBuilder model;
  model.input("x", {"N", 2}).output("y");
  model.initializer(onnxTensor("zero", {}, Longs{0}));
  model.initializer(onnxTensor("much", {}, Longs{(std::int64_t{1} << 62) / 8}));
  model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "zero"}, {"n"});
  model.node("Mul", {"n", "much"}, {"far"}).node("Gather", {"x", "far"}, {"y"}, {}, "rows");
  auto made = importRanged(model.build(), {{"N", {1, 9}}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(checksOf(**made), ElementsAre("rows"));
}

// Where they are calculated from constants there is nothing to count in a run.
TEST(IndexChecks, PlacesToWriteThatAreKnownAreNotCounted) {
  const auto cache = [](std::int64_t at) {
    OnnxBuilder model(24);
    model.input("x", {1, 3, 1})
        .input("u", {1, 2, 1})
        .output("y")
        .initializer(onnxTensor("at", {1}, Longs{at}));
    return import(model.node("TensorScatter", {"x", "u", "at"}, {"y"}, {}, "it").build());
  };
  const auto unpool = [](std::int64_t at) {
    OnnxBuilder model(11);
    model.input("x", {1, 1, 1, 1}).output("y").initializer(onnxTensor("i", {1, 1, 1, 1}, Longs{at}));
    return import(
        model.node("MaxUnpool", {"x", "i"}, {"y"}, {onnxInts("kernel_shape", {2, 2})}, "it").build());
  };
  const auto isInside = [](const Result<std::unique_ptr<TestModel>>& made) {
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_THAT(checksOf(**made), IsEmpty());
  };
  const auto isOutside = [](const Result<std::unique_ptr<TestModel>>& made) {
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    EXPECT_THAT(made.error().message, HasSubstr("'it'"));
    EXPECT_THAT(made.error().message, HasSubstr("outside the dimension that it counts in"));
  };
  for (const std::int64_t at : {0, 1}) isInside(cache(at));
  for (const std::int64_t at : {0, 3}) isInside(unpool(at));
  for (const std::int64_t at : {-1, 2}) isOutside(cache(at));
  for (const std::int64_t at : {-1, 4}) isOutside(unpool(at));
}

TEST(IndexChecks, NodesCountForThemselves) {
  OnnxBuilder model;
  model.input("x", {3}).input("i", {2}, kOnnxInt64).input("k", {2}, kOnnxInt64).output("y").output("z");
  model.node("Gather", {"x", "i"}, {"y"}, {}, "first").node("Gather", {"x", "k"}, {"z"}, {}, "second");
  EXPECT_THAT(checksOf(model), ElementsAre("first", "second"));
  EXPECT_THAT(counted(model, {floats({3}, {0, 1, 2}), longs({2}, {5, 0}), longs({2}, {9, -9})}),
              ElementsAre(1, 2));
}

TEST(IndexChecks, ABranchCountsOnlyWhereItRuns) {
  OnnxBuilder onTrue, onFalse, model;
  onTrue.output("a").node("Gather", {"x", "i"}, {"a"}, {}, "inner");
  onFalse.output("b").node("Identity", {"x"}, {"b"});
  model.input("x", {2}).input("i", {2}, kOnnxInt64).input("c", {}, kOnnxBool).output("y");
  model.node("If", {"c"}, {"y"}, {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)},
             "choice");
  const HostTensor x = floats({2}, {1, 2}), far = longs({2}, {2, 3});
  EXPECT_THAT(checksOf(model), ElementsAre("choice"));
  EXPECT_THAT(counted(model, {x, far, truth(true)}), ElementsAre(2));
  EXPECT_THAT(counted(model, {x, far, truth(false)}), ElementsAre(0));
}

// Reads x at v and hands v + 1 on, as often as the trip count says; the rows are collected.
OnnxBuilder walk(bool known) {
  OnnxBuilder body, model;
  body.input("n", {}, kOnnxInt64).input("go", {}, kOnnxBool).input("v", {}, kOnnxInt64);
  body.output("more", kOnnxBool).output("next", kOnnxInt64).output("read");
  body.node("Identity", {"go"}, {"more"}).node("Add", {"v", "one"}, {"next"});
  body.node("Gather", {"x", "v"}, {"read"}, {}, "inner");
  model.input("x", {3}).input("start", {}, kOnnxInt64).output("end", kOnnxInt64).output("all");
  model.initializer(onnxTensor("one", {}, Longs{1}));
  if (known)
    model.initializer(onnxTensor("trip", {}, Longs{4}));
  else
    model.initializer(onnxTensor("trip", {}, Longs{100}));
  return model.node("Loop", {"trip", "", "start"}, {"end", "all"}, {onnxGraph("body", body)}, "walk");
}

TEST(IndexChecks, ALoopCountsOverItsIterations) {
  const HostTensor x = floats({3}, {5, 6, 7});
  EXPECT_THAT(checksOf(walk(true)), ElementsAre("walk")) << "unrolled";
  EXPECT_THAT(counted(walk(true), {x, longs({}, {1})}), ElementsAre(2));
  auto rolled = import(walk(false).build());
  ASSERT_TRUE(rolled) << rolled.error().message;
  int loops = 0;
  (*rolled)->captured.module->walk([&](ir::LoopOp) { ++loops; });
  EXPECT_EQ(loops, 1);
  const auto results = run(walk(false), {x, longs({}, {-3})});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->size(), 3u);
  EXPECT_EQ(results->at(0).data<std::int64_t>()[0], 97);
  EXPECT_THAT(std::vector<float>(results->at(1).data<float>(), results->at(1).data<float>() + 6),
              ElementsAre(5, 6, 7, 5, 6, 7));
  EXPECT_EQ(results->at(2).data<std::int64_t>()[0], 94);
}

// Unrolling begins, since the first iteration is known to run, and is given up at the second.
TEST(IndexChecks, WhatIsGivenUpIsNotCounted) {
  OnnxBuilder body, model;
  body.input("n", {}, kOnnxInt64).input("go", {}, kOnnxBool).input("v", {}, kOnnxInt64);
  body.output("more", kOnnxBool).output("next", kOnnxInt64);
  body.node("Gather", {"x", "v"}, {"next"}, {}, "inner").node("Less", {"next", "limit"}, {"more"});
  model.input("x", {3}, kOnnxInt64).input("start", {}, kOnnxInt64).output("end", kOnnxInt64);
  ProtoMessage yes;
  yes.varint(2, kOnnxBool).text(8, "yes").text(9, std::string_view("\1", 1));
  model.initializer(yes)
      .initializer(onnxTensor("limit", {}, Longs{9}))
      .initializer(onnxTensor("trip", {}, Longs{5}));
  model.node("Loop", {"trip", "yes", "start"}, {"end"}, {onnxGraph("body", body)}, "walk");
  auto made = import(model.build());
  ASSERT_TRUE(made) << made.error().message;
  int loops = 0;
  (*made)->captured.module->walk([&](ir::LoopOp) { ++loops; });
  EXPECT_EQ(loops, 1);
  // 1, 2, 7, then twice the last row for a 7 that is none.
  EXPECT_THAT(counted(model, {longs({3}, {1, 2, 7}), longs({}, {0})}), ElementsAre(2));
  EXPECT_THAT(counted(model, {longs({3}, {1, 2, 9}), longs({}, {0})}), ElementsAre(0));
}

TEST(IndexChecks, AFunctionCountsAtItsCall) {
  OnnxFunction pick("mine", "Pick", {"a", "b"}, {"c"});
  pick.node("Gather", {"a", "b"}, {"c"}, {}, "inner");
  OnnxBuilder model;
  model.input("x", {3}).input("i", {2}, kOnnxInt64).output("y").importDomain("mine", 1).function(pick);
  model.node("Pick", {"x", "i"}, {"y"}, {}, "call", "mine");
  EXPECT_THAT(checksOf(model), ElementsAre("call"));
  EXPECT_THAT(counted(model, {floats({3}, {0, 1, 2}), longs({2}, {3, 4})}), ElementsAre(2));
}

TEST(IndexChecks, CountsDoNotStandInTheWayOfPadding) {
  OnnxBuilder model;
  model.input("x", {3, 2}).input("i", {"N"}, kOnnxInt64).output("y");
  model.node("Gather", {"x", "i"}, {"y"}, {}, "rows");
  auto made = importRanged(model.build(), {{"N", {1, 9}}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(checksOf(**made), ElementsAre("rows"));
  EXPECT_EQ(analysis::whyNotPadded(*(*made)->captured.module, 1).front(), std::nullopt);
}

TEST(IndexChecks, ModulesAreMadeToCountTheSame) {
  auto two = [](bool first, bool second) {
    OnnxBuilder model;
    model.input("x", {3}).input("i", {1}, kOnnxInt64).output("y").output("z");
    model.initializer(onnxTensor("zero", {1}, Longs{0}));
    model.node("Gather", {"x", first ? "i" : "zero"}, {"y"}, {}, "first");
    return model.node("Gather", {"x", second ? "i" : "zero"}, {"z"}, {}, "second");
  };
  const std::vector<HostTensor> inputs = {floats({3}, {0, 1, 2}), longs({1}, {3})};
  auto a = import(two(false, true).build()), b = import(two(true, false).build()),
       none = import(two(false, false).build());
  ASSERT_TRUE(a && b && none);
  // In contexts of their own: each is aligned with a copy of what the others count.
  for (const auto& [model, expected] : {std::pair{a->get(), Longs{1, 0}}, std::pair{b->get(), Longs{0, 1}},
                                        std::pair{none->get(), Longs{0, 0}}}) {
    mlir::MLIRContext& context = model->context;
    auto other = mlir::OwningOpRef<mlir::ModuleOp>(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
    mlir::OpBuilder builder(&context);
    builder.setInsertionPointToEnd(other->getBody());
    auto main = mlir::func::FuncOp::create(builder, builder.getUnknownLoc(), ir::kMain,
                                           builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(main.addEntryBlock());
    auto type = mlir::RankedTensorType::get({2}, builder.getI64Type());
    auto zeros =
        ir::ConstantOp::create(builder, builder.getUnknownLoc(), type,
                               mlir::DenseElementsAttr::get(type, llvm::ArrayRef<std::int64_t>{0, 0}));
    mlir::func::ReturnOp::create(builder, builder.getUnknownLoc());
    ir::addIndexChecks(main, zeros.getResult(), {std::string("second"), std::string("first")});
    ir::alignIndexChecks({*other, *model->captured.module});
    EXPECT_THAT(checksOf(*model), ElementsAre("second", "first"));
    const auto results = reference::evaluate(*model->captured.module, model->captured.weights, inputs);
    ASSERT_TRUE(results) << results.error().message;
    const HostTensor& counts = results->back();
    EXPECT_EQ((Longs{counts.data<std::int64_t>(), counts.data<std::int64_t>() + counts.elements()}),
              expected);
  }
}

}  // namespace
}  // namespace kiln
