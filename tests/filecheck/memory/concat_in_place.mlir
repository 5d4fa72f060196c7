// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise),cse,func.func(kiln-tile),kiln-bufferize)' | FileCheck %s

// Parts that nothing else uses are made in the result; an input is copied into it.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[Y:[a-z0-9]+]]: memref<1x24x8x8xf32> {kiln.output = 0
func.func @main(%x: tensor<1x8x8x8xf32>) -> tensor<1x24x8x8xf32> {
  // CHECK-NOT: memref.alloc
  // CHECK: memref.subview %[[Y]]
  // CHECK: math.exp
  // CHECK: rule = "elementwise"
  // CHECK: memref.subview %[[Y]]
  // CHECK: math.sqrt
  // CHECK: rule = "elementwise"
  // CHECK: memref.subview %[[Y]]
  // CHECK: linalg.yield %{{.*}} : f32
  // CHECK: rule = "elementwise"
  // CHECK-NOT: scf.forall
  // CHECK-NOT: memref.alloc
  %0 = kiln.unary <exp> %x : tensor<1x8x8x8xf32>
  %1 = kiln.unary <sqrt> %x : tensor<1x8x8x8xf32>
  %2 = kiln.concat %1, %x, %0 axis 1 : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x24x8x8xf32>
  return %2 : tensor<1x24x8x8xf32>
}
