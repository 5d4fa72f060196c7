// A cache that comes as an input, gets a row and goes as an output is copied once, by a kernel that all threads share, into the
// output; it is written and read there.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise,kiln-tile),kiln-bufferize)' | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[CACHE:[a-z0-9]*]]: memref<1x4x1024x64xf32>
// CHECK-SAME: %[[ROWS:[a-z0-9]*]]: memref<4x64xf32>
// CHECK-SAME: %[[AT:[a-z0-9]*]]: memref<4xi64>
// CHECK-SAME: %[[NEXT:[a-z0-9]*]]: memref<1x4x1024x64xf32>
func.func @main(%cache: tensor<1x4x1024x64xf32>, %rows: tensor<4x64xf32>, %at: tensor<4xi64>) -> (tensor<1x4x1024x64xf32>, tensor<1x4x64xf32>) {
  // CHECK-DAG: %[[FROM:.*]] = memref.collapse_shape %[[CACHE]] {{.*}} into memref<4096x64xf32>
  // CHECK-DAG: %[[TO:.*]] = memref.collapse_shape %[[NEXT]] {{.*}} into memref<4096x64xf32>
  // CHECK-NOT: memref.alloc
  // CHECK: scf.forall
  // CHECK: memref.subview %[[FROM]]
  // CHECK: memref.subview %[[TO]]
  // CHECK: linalg.generic
  // CHECK: kiln.call "kiln_scatter_set_b32"(%[[AT]], %[[ROWS]]) outs(%[[TO]])
  // CHECK: scf.forall
  // CHECK-NOT: linalg.generic {{.*}} outs(%[[NEXT]]
  %flat = kiln.reshape %cache : tensor<1x4x1024x64xf32> to tensor<4096x64xf32>
  %written = kiln.scatter <set> %flat[%at], %rows : (tensor<4096x64xf32>, tensor<4xi64>, tensor<4x64xf32>) -> tensor<4096x64xf32>
  %next = kiln.reshape %written : tensor<4096x64xf32> to tensor<1x4x1024x64xf32>
  %sums = kiln.reduce <sum> %next axes [2] : tensor<1x4x1024x64xf32> to tensor<1x4x64xf32>
  return %next, %sums : tensor<1x4x1024x64xf32>, tensor<1x4x64xf32>
}
