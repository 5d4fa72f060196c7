// Each group becomes a parallel loop over tiles that divide the shape; producers of the group are fused into the tile.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise,kiln-tile))' | FileCheck %s

func.func @main(%x: tensor<192x512xf32>, %w: tensor<512x512xf32>) -> (tensor<192x512xf32>, tensor<4x1024xf32>) {
  %0 = kiln.fused %x, %w : (tensor<192x512xf32>, tensor<512x512xf32>) -> tensor<192x512xf32> {
  ^bb0(%a: tensor<192x512xf32>, %b: tensor<512x512xf32>):
    %1 = kiln.matmul %a, %b : (tensor<192x512xf32>, tensor<512x512xf32>) -> tensor<192x512xf32>
    %2 = kiln.unary <relu> %1 : tensor<192x512xf32>
    kiln.yield %2 : tensor<192x512xf32>
  }
  %c = kiln.constant dense<2.0> : tensor<4x1024xf32>
  return %0, %c : tensor<192x512xf32>, tensor<4x1024xf32>
}
// CHECK-LABEL: func.func @main
// CHECK: scf.forall {{.*}} = (0, 0) to (192, 512) step (96, 64)
// CHECK: linalg.fill {{.*}} -> tensor<96x64xf32>
// CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<96x512xf32>, tensor<512x64xf32>)
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<96x64xf32>)
// CHECK: arith.select
// CHECK: tensor.parallel_insert_slice
// CHECK: kiln.kernel = {loops = array<i64: 192, 512>, nodes = [{{.*}}], rule = "contraction", schedule = {pack = array<i64: 1>, rows = array<i64: 0>, steps = array<i64: 512>, tile = array<i64: 96, 64>, vectors = array<i64: 0>}}
// A kernel of its own, of one task.
// CHECK: scf.forall
// CHECK: linalg.fill
// CHECK: rule = "elementwise", schedule = {tile = array<i64: 4, 1024>, unroll = array<i64: 1>}
