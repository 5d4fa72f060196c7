// The rows of a softmax's tile one after the other, each through all of its operations.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise,kiln-tile))' | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: scf.forall
// CHECK: scf.for {{.*}} -> (tensor<16x1024xf32>)
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: kiln.partials
// CHECK: arith.divf
// CHECK: arith.mulf
// CHECK: tensor.insert_slice {{.*}} : tensor<1x1024xf32> into tensor<16x1024xf32>
// CHECK: scf.yield
// CHECK: tensor.parallel_insert_slice
func.func @main(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> {
  %0 = kiln.softmax %x axis 1 : tensor<64x1024xf32>
  return %0 : tensor<64x1024xf32>
}
