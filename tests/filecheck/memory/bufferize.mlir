// Tensors become buffers; results are written straight into the caller's memory; nothing is copied onto itself.
// RUN: kiln-opt %s --kiln-bufferize | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: memref<8xf32> {kiln.input = 0 : i64}
// CHECK-SAME: %[[W:.*]]: memref<8xf32> {kiln.source = 0 : i64, kiln.weight = 0 : i64}
// CHECK-SAME: %[[Y:.*]]: memref<8xf32> {kiln.output = 0 : i64}
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[W]] : {{.*}}) outs(%[[Y]] : memref<8xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @main(%x: tensor<8xf32> {kiln.input = 0 : i64}, %w: tensor<8xf32> {kiln.weight = 0 : i64, kiln.source = 0 : i64}) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %w : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
