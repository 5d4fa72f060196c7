// A product's weight is read from panels that lie in the artifact: nothing is copied, and the plain weight is no argument any
// more unless somebody else reads it. Each layout of a weight is one argument.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise,kiln-tile),kiln-bufferize,func.func(kiln-vectorize))' | FileCheck %s

// Ninety-six columns are six panels of two registers.
// CHECK-LABEL: func.func @main
// CHECK-SAME: memref<6x64x16xf32> {kiln.panels = 16 : i64, kiln.source = 0 : i64, kiln.weight = 0 : i64}
// The second weight is added to something as well, so it is there in both layouts.
// CHECK-SAME: memref<64x96xf32> {kiln.source = 1 : i64, kiln.weight = 1 : i64}
// CHECK-SAME: memref<6x64x16xf32> {kiln.panels = 16 : i64, kiln.source = 1 : i64, kiln.weight = 2 : i64}
// Narrower than a panel: as it is.
// CHECK-SAME: memref<96x5xf32> {kiln.source = 2 : i64, kiln.weight = 3 : i64}
func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x96xf32>, tensor<1x96xf32>, tensor<64x96xf32>, tensor<64x5xf32>) {
  %w = kiln.weight 0 : tensor<64x96xf32>
  %v = kiln.weight 1 : tensor<64x96xf32>
  %u = kiln.weight 2 : tensor<96x5xf32>
  // CHECK: scf.forall
  // CHECK-NOT: memref.alloc
  // CHECK: scf.for
  // CHECK: %[[PANEL:.*]] = arith.divui
  // CHECK: scf.for {{.*}} iter_args
  // CHECK: vector.load %{{.*}}[%[[PANEL]], %{{.*}}, %{{.*}}] : memref<6x64x16xf32>, vector<8xf32>
  // CHECK: kiln.kernel = {{.*}}schedule = {pack = array<i64: 3>
  %0 = kiln.matmul %x, %w : (tensor<64x64xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  // The same weight for one row: the same panels.
  %row = kiln.slice %x offsets [0, 0] strides [1, 1] : tensor<64x64xf32> to tensor<1x64xf32>
  %1 = kiln.matmul %row, %w : (tensor<1x64xf32>, tensor<64x96xf32>) -> tensor<1x96xf32>
  %2 = kiln.binary <add> %0, %v : tensor<64x96xf32>
  %3 = kiln.matmul %x, %v : (tensor<64x64xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %4 = kiln.binary <add> %2, %3 : tensor<64x96xf32>
  %5 = kiln.matmul %4, %u : (tensor<64x96xf32>, tensor<96x5xf32>) -> tensor<64x5xf32>
  return %0, %1, %4, %5 : tensor<64x96xf32>, tensor<1x96xf32>, tensor<64x96xf32>, tensor<64x5xf32>
}
