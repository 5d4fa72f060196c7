// A weight that the model has with its channels last: its dimensions are transposed once, for the model's transpose and the panels
// together.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise,kiln-tile),kiln-bufferize,func.func(kiln-vectorize))' | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: memref<2x360x16xf32> {kiln.panels = 16 : i64, kiln.permutation = array<i64: 2, 0, 1, 3>, kiln.source = 0 : i64, kiln.weight = 0 : i64}
// CHECK-NOT: kiln.source = 0
func.func @main(%x: tensor<1x40x9x9xf32>) -> tensor<1x32x7x7xf32> {
  %w = kiln.weight 0 : tensor<3x3x40x32xf32>
  %t = kiln.transpose %w [3, 2, 0, 1] : tensor<3x3x40x32xf32> to tensor<32x40x3x3xf32>
  %0 = kiln.conv %x, %t strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1
    : (tensor<1x40x9x9xf32>, tensor<32x40x3x3xf32>) -> tensor<1x32x7x7xf32>
  return %0 : tensor<1x32x7x7xf32>
}
