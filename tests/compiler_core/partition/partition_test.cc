#include "compiler_core/partition/partition.h"

#include <gtest/gtest.h>

#include "compiler_core/ir/ir.h"
#include "mlir/Parser/Parser.h"

namespace kiln::partition {
namespace {

PartitionResult run(const char* text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ir::KilnDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  return partition(*module, "cpu:x86-64-v3");
}

TEST(Partition, EverythingServedIsOnePartition) {
  const auto result = run(R"(
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = kiln.unary <relu> %x : tensor<2x3xf32> loc("first")
  %1 = kiln.binary <add> %0, %x : tensor<2x3xf32> loc("second")
  %2 = kiln.softmax %1 axis 1 : tensor<2x3xf32> loc("second")
  return %2 : tensor<2x3xf32>
})");
  EXPECT_TRUE(result.unsupported.empty());
  EXPECT_TRUE(result.evidence.fallback.empty());
  EXPECT_EQ(result.evidence.transferBytes, 0);
  ASSERT_EQ(result.evidence.partitions.size(), 1u);
  EXPECT_EQ(result.evidence.partitions[0].operations, 3);
  EXPECT_EQ(result.evidence.partitions[0].nodes, (std::vector<std::string>{"first", "second"}));
}

TEST(Partition, OperationsInsideGroupsCount) {
  const auto result = run(R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.fused %x : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = kiln.unary <exp> %a : tensor<4xf32>
    %2 = kiln.unary <neg> %1 : tensor<4xf32>
    kiln.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
})");
  EXPECT_TRUE(result.unsupported.empty());
  EXPECT_EQ(result.evidence.partitions[0].operations, 2);
}

}  // namespace
}  // namespace kiln::partition
