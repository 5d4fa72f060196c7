#include "compiler_core/partition/partition.h"
#include "compiler_core/ir/attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/partition/partition_ops.h"
#include "mlir/Parser/Parser.h"

namespace kiln::partition {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kV4[] = "cpu:x86-64-v4", kV3[] = "cpu:x86-64-v3", kGpu[] = "cuda:sm_90a";

struct Case {
  PartitionOptions options;
  std::vector<std::string> marks;  // kiln.target of the operations, "" without

  Result<PartitionResult> run(const char* text) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    context.loadDialect<ir::KilnDialect, mlir::func::FuncDialect>();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (options.targets.empty()) options.targets = {kV4, kV3};
    auto result = partition(*module, options);
    marks.clear();
    for (mlir::Operation& op :
         module->lookupSymbol<mlir::func::FuncOp>("main").front().without_terminator()) {
      auto mark = ir::TargetAttr::get(&op);
      marks.push_back(mark ? mark.str() : "");
    }
    return result;
  }
};

constexpr char kThree[] = R"(
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = kiln.unary <relu> %x : tensor<2x3xf32> loc("first")
  %1 = kiln.binary <add> %0, %x : tensor<2x3xf32> loc("second")
  %2 = kiln.softmax %1 axis 1 : tensor<2x3xf32> loc("third")
  return %2 : tensor<2x3xf32>
})";
const std::map<std::string, std::string> kOperators = {
    {"first", "Relu"}, {"second", "Add"}, {"third", "Softmax"}};

TEST(Partition, EverythingServedIsOnePartition) {
  Case one{{.targets = {kV3}}};
  const auto result = one.run(kThree);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->unsupported.empty());
  EXPECT_TRUE(result->evidence.fallback.empty());
  EXPECT_EQ(result->evidence.transferBytes, 0u);
  ASSERT_EQ(result->evidence.partitions.size(), 1u);
  EXPECT_EQ(result->evidence.partitions[0].target, kV3);
  EXPECT_EQ(result->evidence.partitions[0].operations, 3);
  EXPECT_EQ(result->evidence.partitions[0].nodes, (std::vector<std::string>{"first", "second", "third"}));
  EXPECT_EQ(one.marks, (std::vector<std::string>{"", "", ""}));
}

TEST(Partition, OperationsInsideGroupsCount) {
  Case one{{.targets = {kV3}}};
  const auto result = one.run(R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.fused %x : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = kiln.unary <exp> %a : tensor<4xf32>
    %2 = kiln.unary <neg> %1 : tensor<4xf32>
    kiln.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
})");
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->unsupported.empty());
  EXPECT_EQ(result->evidence.partitions[0].operations, 2);
}

TEST(Partition, TheCostModelKeepsASmallModelTogether) {
  Case both;
  const auto result = both.run(kThree);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->evidence.partitions.size(), 1u);
  EXPECT_EQ(result->evidence.partitions[0].target, kV4);
  EXPECT_GT(result->evidence.partitions[0].flops, 0u);
}

TEST(Partition, TheFirstAffinityThatMatchesDecides) {
  Case both{
      {.rules = {.affinities = {{"op:Soft*", kV3}, {"third", kV4}, {"f*", kV3}}}, .operators = kOperators}};
  const auto drawn = both.run(kThree);
  ASSERT_TRUE(drawn);
  EXPECT_EQ(drawn->evidence.partitions[0].target, kV3) << "the free one between goes with its neighbours";
  both.options.rules.affinities.push_back({"second", kV4});
  ASSERT_TRUE(both.run(kThree));
  EXPECT_EQ(both.marks, (std::vector<std::string>{kV3, kV4, kV3}));
}

TEST(Partition, WhatThePrimaryCannotServeFailsByName) {
  Case both{{.rules = {.exclusions = {{"op:Softmax", kV4}, {"first", kV4}}}, .operators = kOperators}};
  const auto result = both.run(kThree);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->unsupported.size(), 2u) << "all of them are listed";
  EXPECT_EQ(result->unsupported[0].node, "first");
  EXPECT_EQ(result->unsupported[1].op, "Softmax");
  EXPECT_NE(result->unsupported[1].reason.find("excluded from target cpu:x86-64-v4"), std::string::npos);
  EXPECT_EQ(both.marks, (std::vector<std::string>{"", "", ""}));
}

// The other target could have them.
TEST(Partition, WhatIsRefusedNamesTheNextStep) {
  Case both{{.rules = {.exclusions = {{"first", kV4}}}, .operators = kOperators}};
  const auto reasonOf = [&] {
    const auto result = both.run(kThree);
    return result && result->unsupported.size() == 1 ? result->unsupported[0].reason : std::string();
  };
  EXPECT_THAT(reasonOf(), EndsWith("; another target can have it: give --fallback cpu, or --affinity "
                                   "\"first=cpu:x86-64-v3\""));
  both.options.rules.affinities = {{"first", kV4}};
  EXPECT_THAT(reasonOf(), EndsWith("--affinity \"first=cpu:x86-64-v3\" before the others"));
  both.options.rules.affinities = {};
  both.options.rules.exclusions.push_back({"first", kV3});
  EXPECT_THAT(reasonOf(), Not(HasSubstr("give"))) << "no target may have it";
}

TEST(Partition, ANodeOfSeveralOperationsIsRefusedOnce) {
  Case both{{.rules = {.exclusions = {{"first", kV4}}}, .operators = kOperators}};
  std::string text = kThree;
  text.replace(text.find("second"), 6, "first");
  const auto result = both.run(text.c_str());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->unsupported.size(), 1u);
}

TEST(Partition, AFallbackSaysNodeReasonAndShare) {
  Case both{{.fallback = true,
             .rules = {.exclusions = {{"op:Softmax", kV4}}, .fallbackOperators = {"Softmax"}},
             .operators = kOperators}};
  const auto result = both.run(kThree);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->evidence.fallback.size(), 1u);
  const Fallback& one = result->evidence.fallback[0];
  EXPECT_EQ(one.node.node, "third");
  EXPECT_EQ(one.node.op, "Softmax");
  EXPECT_EQ(one.from, kV4);
  EXPECT_EQ(one.to, kV3);
  EXPECT_NE(one.node.reason.find("op:Softmax"), std::string::npos);
  EXPECT_EQ(result->evidence.nodes, 3);
  EXPECT_EQ(result->evidence.fallbackPermille, 334) << "rounded up";
}

TEST(Partition, ANodeOfSeveralOperationsFallsBackOnce) {
  Case both{{.fallback = true,
             .rules = {.exclusions = {{"*", kV4}}},
             .operators = {{"one", "Gelu"}, {"two", "Neg"}}}};
  const auto result = both.run(R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.unary <exp> %x : tensor<4xf32> loc("one")
  %1 = kiln.unary <tanh> %0 : tensor<4xf32> loc("one")
  %2 = kiln.unary <neg> %1 : tensor<4xf32> loc("two")
  return %2 : tensor<4xf32>
})");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->evidence.fallback.size(), 2u);
  EXPECT_EQ(result->evidence.fallbackPermille, 1000);
}

TEST(Partition, TheAllowListAndTheShareAreLimits) {
  Case listed{{.fallback = true,
               .rules = {.exclusions = {{"op:Softmax", kV4}}, .fallbackOperators = {"Add", "Relu"}},
               .operators = kOperators}};
  const auto refused = listed.run(kThree);
  ASSERT_TRUE(refused);
  ASSERT_EQ(refused->unsupported.size(), 1u);
  EXPECT_NE(refused->unsupported[0].reason.find("\"third\" (Softmax) may not fall back, only Add, Relu may"),
            std::string::npos)
      << refused->unsupported[0].reason;
  Case shared{{.fallback = true,
               .rules = {.exclusions = {{"op:Softmax", kV4}}, .fallbackPermille = 333},
               .operators = kOperators}};
  const auto over = shared.run(kThree);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kUnimplemented);
  EXPECT_NE(over.error().message.find("1 of 3 nodes would fall back, 334 thousandths; the spec allows 333"),
            std::string::npos)
      << over.error().message;
  EXPECT_NE(over.error().message.find("\"third\" (Softmax)"), std::string::npos);
}

TEST(Partition, AnAffinityIsNoFallback) {
  Case both{
      {.rules = {.affinities = {{"third", kV3}}, .exclusions = {{"third", kV4}}}, .operators = kOperators}};
  const auto result = both.run(kThree);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->unsupported.empty());
  EXPECT_TRUE(result->evidence.fallback.empty());
}

TEST(Partition, NothingFallsBackWhereNothingElseIs) {
  Case one{{.targets = {kV3}, .fallback = true, .rules = {.exclusions = {{"third", kV3}}}}};
  const auto result = one.run(kThree);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->unsupported.size(), 1u);
}

// A back end as a table of its own: no softmax, and f16 only by conversion.
const CapabilityTable& accelerator(std::string_view target) {
  static const CapabilityTable table = {{"kiln.unary", kFull, kHalf}, {"kiln.binary", kFull, kHalf}};
  return target.starts_with("cpu:") ? capabilitiesOf(target) : table;
}

TEST(Partition, TablesAreData) {
  Case cuda{{.targets = {"cuda:sm_90a", kV3}, .operators = kOperators, .capabilities = accelerator}};
  const auto failed = cuda.run(kThree);
  ASSERT_TRUE(failed);
  ASSERT_EQ(failed->unsupported.size(), 1u);
  EXPECT_THAT(failed->unsupported[0].reason,
              StartsWith("target cuda:sm_90a has no kiln.softmax; another target"));
  cuda.options.fallback = true;
  const auto result = cuda.run(kThree);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->evidence.fallback.size(), 1u);
  EXPECT_EQ(result->evidence.fallback[0].to, kV3);
  const auto half = serve(accelerator("cuda:sm_90a"), "cuda:sm_90a", "kiln.unary", {DType::kF16});
  EXPECT_EQ(half.service, Service::kEmulated);
  const auto whole = serve(accelerator("cuda:sm_90a"), "cuda:sm_90a", "kiln.unary", {DType::kI8});
  EXPECT_EQ(whole.reason, "target cuda:sm_90a does not serve kiln.unary on i8");
  EXPECT_EQ(serve(capabilitiesOf("tpu:v5"), "tpu:v5", "kiln.unary", {}).reason,
            "target tpu:v5 has no kiln.unary");
}

TEST(Partition, AGpuIsMarkedEvenIfAllGoesThere) {
  Case gpu{{.targets = {kGpu}}};
  const auto result = gpu.run(kThree);
  ASSERT_TRUE(result);
  EXPECT_EQ(gpu.marks, (std::vector<std::string>{kGpu, kGpu, kGpu}));
  Case both{{.targets = {kGpu, kV3}}};
  ASSERT_TRUE(both.run(kThree));
  EXPECT_EQ(both.marks, gpu.marks) << "a small model stays with the primary";
}

TEST(Partition, AGpuServesNoSearchAndNoSizeThatARunFindsOut) {
  Case gpu{{.targets = {kGpu}, .operators = {{"sorted", "TopK"}}}};
  const auto result = gpu.run(R"(
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %0:2 = kiln.sort %x axis 0 : tensor<4xf32> to tensor<4xf32>, tensor<4xi64> loc("sorted")
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi64>
})");
  ASSERT_TRUE(result);
  ASSERT_EQ(result->unsupported.size(), 1u);
  EXPECT_EQ(result->unsupported[0].op, "TopK") << "as the model calls it";
  EXPECT_EQ(result->unsupported[0].reason, "target cuda:sm_90a has no kiln.sort");
  for (const char* operation :
       {"kiln.unique", "kiln.nms", "kiln.compress", "kiln.truncate", "kiln.if", "kiln.loop"})
    EXPECT_EQ(serve(capabilitiesOf(kGpu), kGpu, operation, {DType::kF32}).service, Service::kNone)
        << operation;
}

// Nobody named the fallback target, so it gets what falls back and nothing else, but of that the whole node.
TEST(Partition, AFallbackTargetOfItsOwnTakesWholeNodesAndNoOthers) {
  Case one{{.targets = {kGpu, kV3},
            .fallback = true,
            .onlyFallback = true,
            .operators = {{"first", "Relu"}, {"odd", "TopK"}, {"last", "Neg"}}}};
  const auto result = one.run(R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.unary <relu> %x : tensor<4xf32> loc("first")
  %1:2 = kiln.sort %0 axis 0 : tensor<4xf32> to tensor<4xf32>, tensor<4xi64> loc("odd")
  %2 = kiln.unary <abs> %1#0 : tensor<4xf32> loc("odd")
  %3 = kiln.unary <neg> %2 : tensor<4xf32> loc("last")
  return %3 : tensor<4xf32>
})");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(one.marks, (std::vector<std::string>{kGpu, kV3, kV3, kGpu}));
  EXPECT_EQ(result->evidence.fallbackPermille, 334);
}

TEST(Partition, WhatSharesAKernelFallsBackTogether) {
  Case both{{.fallback = true,
             .rules = {.exclusions = {{"neg", kV4}}},
             .operators = {{"exp", "Exp"}, {"neg", "Neg"}}}};
  const auto result = both.run(R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.fused %x : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = kiln.unary <exp> %a : tensor<4xf32> loc("exp")
    %2 = kiln.unary <neg> %1 : tensor<4xf32> loc("neg")
    kiln.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
})");
  ASSERT_TRUE(result);
  ASSERT_EQ(result->evidence.fallback.size(), 2u);
  EXPECT_NE(result->evidence.fallback[0].node.reason.find("one kernel with \"neg\""), std::string::npos);
  EXPECT_EQ(result->evidence.fallbackPermille, 1000);
  EXPECT_EQ(result->evidence.partitions[0].target, kV3);
}

}  // namespace
}  // namespace kiln::partition
