// For a device a tile is what a block of threads makes; one operation alone stays whole, with its schedule.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise,kiln-tile{device=true}))' | FileCheck %s

func.func @main(%x: tensor<192x512xf32>, %w: tensor<512x512xf32>) -> (tensor<192x512xf32>, tensor<192x512xf32>, tensor<512xf32>) {
  %0 = kiln.fused %x, %w : (tensor<192x512xf32>, tensor<512x512xf32>) -> tensor<192x512xf32> {
  ^bb0(%a: tensor<192x512xf32>, %b: tensor<512x512xf32>):
    %1 = kiln.matmul %a, %b : (tensor<192x512xf32>, tensor<512x512xf32>) -> tensor<192x512xf32>
    %2 = kiln.unary <relu> %1 : tensor<192x512xf32>
    kiln.yield %2 : tensor<192x512xf32>
  }
  %3 = kiln.softmax %x axis 1 : tensor<192x512xf32>
  %4 = kiln.reduce <sum> %x axes [0] : tensor<192x512xf32> to tensor<512xf32>
  return %0, %3, %4 : tensor<192x512xf32>, tensor<192x512xf32>, tensor<512xf32>
}
// CHECK-LABEL: func.func @main
// CHECK: scf.forall {{.*}} = (0, 0) to (192, 512) step (32, 32)
// CHECK: kiln.kernel = {loops = array<i64: 192, 512>, nodes = [{{.*}}], rule = "device contraction 32", schedule = {threads = array<i64: 64>, tile = array<i64: 32, 32>}}
// Rows are kept from their maximum to the quotients.
// CHECK: scf.forall {{.*}} to (192) step (8)
// CHECK: math.exp
// CHECK: rule = "device rows", schedule = {threads = array<i64: 256>, tile = array<i64: 8, 512>
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK-SAME: kiln.kernel = {loops = array<i64: 512>, nodes = [{{.*}}], rule = "device spread", schedule = {threads = array<i64: 128>, tile = array<i64: 128>}}
