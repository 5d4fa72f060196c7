// A packed matrix is taken apart in the product that multiplies with it: no matrix in f32 is made, and codes and scales are read
// from panels that lie in the artifact.
// RUN: kiln-opt %s --kiln-lower-to-linalg | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise,kiln-tile),kiln-bufferize,func.func(kiln-vectorize))' | FileCheck %s --check-prefix=VECTORS

// VECTORS-LABEL: func.func @main
// VECTORS-SAME: memref<16x32x16xi8> {kiln.panels = 16 : i64, kiln.source = 0 : i64, kiln.weight = 0 : i64}
// VECTORS-SAME: memref<16x4x16xf32> {kiln.panels = 16 : i64, kiln.source = 1 : i64, kiln.weight = 1 : i64}
// VECTORS-NOT: memref<64x256xf32>
// VECTORS: scf.for {{.*}} iter_args
// VECTORS: scf.for {{.*}} iter_args
// VECTORS: vector.load %{{.*}} : memref<16x32x16xi8>, vector<8xi8>
// VECTORS: arith.extui {{.*}} : vector<8xi8> to vector<8xi32>
// VECTORS: math.fma
// VECTORS: math.fma

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<3x64xf32>) -> tensor<3x256xf32> {
  // CHECK: %[[ROWS:.*]] = tensor.expand_shape %arg0 {{.*}} : tensor<3x64xf32> into tensor<3x4x8x2xf32>
  %c = kiln.weight 0 : tensor<4x8x256xui8>
  %s = kiln.weight 1 : tensor<4x256xf32>
  %z = kiln.constant dense<8> : tensor<4x256xui8>
  %w = kiln.dequantise %c scales %s zeros %z bits 4 : (tensor<4x8x256xui8>, tensor<4x256xf32>, tensor<4x256xui8>) -> tensor<64x256xf32>
  // CHECK-NOT: tensor<64x256xf32>
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction", "reduction"]
  // CHECK-SAME: ins(%{{.*}}, %{{.*}}, %[[ROWS]], %[[ROWS]] : tensor<4x8x256xi8>, tensor<4x256xf32>, tensor<3x4x8x2xf32>, tensor<3x4x8x2xf32>)
  // CHECK: arith.extui
  // CHECK: arith.andi
  // CHECK: arith.sitofp
  // CHECK: arith.subf
  // CHECK: arith.shrui
  %y = kiln.matmul %x, %w : (tensor<3x64xf32>, tensor<64x256xf32>) -> tensor<3x256xf32>
  return %y : tensor<3x256xf32>
}
