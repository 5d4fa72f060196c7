// What a contraction on a device is taken for, and how large its tiles are.
#include <gtest/gtest.h>

#include "compiler_core/schedule/analysis/contraction_roles.h"
#include "compiler_core/schedule/strategies/gpu_product/contraction_tiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"

namespace kiln::schedule {
namespace {

using Loops = llvm::SmallVector<unsigned>;

struct Parsed {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::linalg::LinalgOp op;

  explicit Parsed(const std::string& body) {
    context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                        mlir::memref::MemRefDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(body, &context);
    if (module) module->walk([&](mlir::linalg::LinalgOp found) { op = found; });
  }
};

TEST(ContractionRoles, OfABatchedProduct) {
  Parsed parsed(R"(
func.func @f(%a: memref<3x5x7xf32>, %b: memref<3x7x9xf32>, %c: memref<3x5x9xf32>) {
  linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>,
                                   affine_map<(b, m, n, k) -> (b, m, n)>],
                  iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<3x5x7xf32>, memref<3x7x9xf32>) outs(%c : memref<3x5x9xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
})");
  ASSERT_TRUE(parsed.op);
  const auto roles = findContraction(parsed.op);
  ASSERT_TRUE(roles);
  EXPECT_EQ(roles->batch, Loops{0});
  EXPECT_EQ(roles->left.loops, Loops{1});
  EXPECT_EQ(roles->right.loops, Loops{2});
  EXPECT_EQ(roles->reductions, Loops{3});
  EXPECT_EQ(roles->left.multiplicand, Multiplicand::kOther);
}

// n, g, o, y, x, c, u, v: the image's positions are neighbours in the result, so they are the columns.
TEST(ContractionRoles, OfAGroupedConvolutionOfCodes) {
  Parsed parsed(R"(
#image = affine_map<(n, g, o, y, x, c, u, v) -> (n, g, c, y * 2 + u, x + v * 3)>
#filter = affine_map<(n, g, o, y, x, c, u, v) -> (g, o, c, u, v)>
#out = affine_map<(n, g, o, y, x, c, u, v) -> (n, g, o, y, x)>
func.func @f(%a: memref<1x2x4x9x20xi16>, %b: memref<2x8x4x3x3xi16>, %c: memref<1x2x8x4x14xf32>) {
  linalg.generic {indexing_maps = [#image, #filter, #out],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%a, %b : memref<1x2x4x9x20xi16>, memref<2x8x4x3x3xi16>) outs(%c : memref<1x2x8x4x14xf32>) {
  ^bb0(%x: i16, %y: i16, %z: f32):
    %0 = arith.extui %x : i16 to i32
    %sixteen = arith.constant 16 : i32
    %1 = arith.shli %0, %sixteen : i32
    %2 = arith.bitcast %1 : i32 to f32
    %3 = arith.bitcast %y : i16 to f16
    %4 = arith.extf %3 : f16 to f32
    %5 = arith.mulf %2, %4 : f32
    %6 = arith.addf %z, %5 : f32
    linalg.yield %6 : f32
  }
  return
})");
  ASSERT_TRUE(parsed.op);
  const auto roles = findContraction(parsed.op);
  ASSERT_TRUE(roles);
  EXPECT_EQ(roles->batch, Loops{1});
  EXPECT_EQ(roles->left.loops, Loops{2});
  EXPECT_EQ(roles->right.loops, (Loops{0, 3, 4}));
  EXPECT_EQ(roles->reductions, (Loops{5, 6, 7}));
  EXPECT_EQ(roles->left.multiplicand, Multiplicand::kF16);
  EXPECT_EQ(roles->right.multiplicand, Multiplicand::kBF16);
}

TEST(ContractionRoles, NotOfASumOfSquaresNorOfAWindow) {
  Parsed squares(R"(
func.func @f(%a: memref<5x7xf32>, %b: memref<7xf32>, %c: memref<5xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, affine_map<(m, k) -> (m)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : memref<5x7xf32>, memref<7xf32>) outs(%c : memref<5xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %x : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
})");
  ASSERT_TRUE(squares.op);
  EXPECT_FALSE(findContraction(squares.op));
}

TEST(ContractionTiles, LargeOnesFillADeviceSmallOnesAreCutFiner) {
  const DeviceTile large = chooseContractionTile({KernelKind::kContraction, {{4096}, {4096}}, 3 * 4096});
  EXPECT_EQ(large.tile.sizes, (std::vector<std::int64_t>{128, 128}));
  EXPECT_EQ(large.threads, 256);
  const DeviceTile small = chooseContractionTile({KernelKind::kContraction, {{12}, {128}, {64}}, 3 * 64});
  EXPECT_EQ(small.tile.sizes, (std::vector<std::int64_t>{1, 32, 32}));
}

TEST(ContractionTiles, AreDivisorsWhereLargeOnesAreThere) {
  // 197 has none: the last tile is partial. 1000 has 125, which is no multiple of 4, and 100.
  const DeviceTile tile = chooseContractionTile({KernelKind::kContraction, {{64}, {197}, {1000}}, 3 * 64});
  EXPECT_EQ(tile.tile.sizes, (std::vector<std::int64_t>{1, 128, 100}));
}

TEST(ContractionTiles, OfAConvolutionShareChannelsAndPositions) {
  KernelShape shape{KernelKind::kConvolution, {{8}, {256}, {56}, {56}}, 3 * 576};
  const DeviceTile tile = chooseContractionTile(shape);
  EXPECT_EQ(tile.tile.sizes, (std::vector<std::int64_t>{1, 128, 2, 56}));
  // Three dimensions: channels still are rows.
  shape.loops = {{1}, {256}, {16}, {14}, {14}};
  shape.window = 3;
  EXPECT_GE(chooseContractionTile(shape).tile.sizes[1], 32);
  // One channel per group: nothing to share, one result per thread.
  shape.loops = {{1}, {128}, {1}, {56}, {56}};
  shape.window = 2;
  const DeviceTile depthwise = chooseContractionTile(shape);
  EXPECT_EQ(depthwise.tile.sizes, (std::vector<std::int64_t>{1, 1, 1, 4, 56}));
  EXPECT_EQ(depthwise.threads, 224);
}

TEST(ContractionTiles, AProductOfOneRowIsOneResultPerThread) {
  const DeviceTile tile = chooseContractionTile({KernelKind::kContraction, {{1}, {4096}}, 3 * 4096});
  EXPECT_EQ(tile.tile.sizes, (std::vector<std::int64_t>{1, 256}));
  EXPECT_EQ(tile.threads, 256);
}

}  // namespace
}  // namespace kiln::schedule
