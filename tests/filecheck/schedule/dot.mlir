// On targets with dot products of bytes, what is multiplied are packed operands of four steps of the sum: made by a kernel of their
// own, or when the program is packaged where they are a weight.
// RUN: kiln-opt %s --split-input-file --pass-pipeline='builtin.module(kiln-lower-to-linalg{byte-dots=true})' | FileCheck %s
// RUN: kiln-opt %s --split-input-file --pass-pipeline='builtin.module(kiln-lower-to-linalg)' | FileCheck %s --check-prefix=PLAIN
// RUN: kiln-opt %s --split-input-file --pass-pipeline='builtin.module(kiln-lower-to-linalg{byte-dots=true},func.func(kiln-tile),kiln-bufferize,func.func(kiln-vectorize))' | FileCheck %s --check-prefix=VECTOR

// The last packed operand of 70 bytes is filled up.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %{{.*}}: tensor<7x70xi8> {kiln.input = 0 : i64}, %[[W:.*]]: tensor<18x33xi32> {kiln.source = 0 : i64, kiln.weight = 0 : i64, kiln.words = array<i64: 0, 4>}
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [7, 70] [1, 1] : tensor<7x70xi8> into tensor<7x72xi8>
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [7, 18, 4]
// CHECK-COUNT-4: tensor.extract_slice
// CHECK: linalg.generic {{.*}} attrs = {kiln.group = {{.*}}, kiln.words}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[W]] : tensor<7x18xi32>, tensor<18x33xi32>) {{.*}} attrs = {kiln.dot = "u8 by i8"
// CHECK: arith.shrui
// CHECK: arith.shrsi

// PLAIN-NOT: kiln.words
// PLAIN: ins(%{{.*}}, %{{.*}} : tensor<7x70xi32>, tensor<70x33xi32>)

// The packed operands are copies of what lies in memory.
// VECTOR: %[[CODES:.*]] = vector.load %{{.*}} : memref<{{.*}}xi8, {{.*}}>, vector<32xi8>
// VECTOR: vector.bitcast %[[CODES]] : vector<32xi8> to vector<8xi32>
// VECTOR: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%{{.*}}) : (vector<8xi32>, vector<32xi8>, vector<32xi8>) -> vector<8xi32>
// One column that is left is made by the same instruction.
// VECTOR: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// VECTOR: vector.extract
func.func @main(%x: tensor<7x70xui8>) -> tensor<7x33xi32> {
  %w = kiln.weight 0 : tensor<70x33xi8>
  %0 = kiln.cast %x : tensor<7x70xui8> to tensor<7x70xi32>
  %1 = kiln.cast %w : tensor<70x33xi8> to tensor<70x33xi32>
  %2 = kiln.matmul %0, %1 : (tensor<7x70xi32>, tensor<70x33xi32>) -> tensor<7x33xi32>
  return %2 : tensor<7x33xi32>
}

// -----

// A convolution packs four channels; the signed factor comes second as well.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<16x2x3x3xi32> {kiln.source = 0 : i64, kiln.weight = 0 : i64, kiln.words = array<i64: 1, 4>}
// CHECK: tensor.expand_shape %{{.*}} output_shape [1, 2, 4, 10, 10]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x2x12x12xi32>, tensor<16x2x3x3xi32>) {{.*}} attrs = {kiln.dot = "i8 by u8"
func.func @main(%x: tensor<1x8x10x10xi8>) -> tensor<1x16x10x10xi32> {
  %w = kiln.weight 0 : tensor<16x8x3x3xui8>
  %0 = kiln.cast %x : tensor<1x8x10x10xi8> to tensor<1x8x10x10xi32>
  %1 = kiln.cast %w : tensor<16x8x3x3xui8> to tensor<16x8x3x3xi32>
  %2 = kiln.conv %0, %1 strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x8x10x10xi32>, tensor<16x8x3x3xi32>) -> tensor<1x16x10x10xi32>
  return %2 : tensor<1x16x10x10xi32>
}

// -----

// Factors of one sign are not for the instruction, and stay.
// CHECK-LABEL: func.func @main
// CHECK-NOT: kiln.dot
func.func @main(%x: tensor<4x8xi8>, %y: tensor<8x4xi8>) -> tensor<4x4xi32> {
  %0 = kiln.cast %x : tensor<4x8xi8> to tensor<4x8xi32>
  %1 = kiln.cast %y : tensor<8x4xi8> to tensor<8x4xi32>
  %2 = kiln.matmul %0, %1 : (tensor<4x8xi32>, tensor<8x4xi32>) -> tensor<4x4xi32>
  return %2 : tensor<4x4xi32>
}

// -----

// A packed operand of a depthwise convolution holds the rows of a window: every second one is the first of the next window's.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<8x1x1x3xi32> {kiln.source = 0 : i64, kiln.weight = 0 : i64, kiln.words = array<i64: 2, 4>}
// CHECK: %[[R0:.*]] = tensor.extract_slice %[[P:.*]][0, 0, 0, 0] [1, 8, 5, 12] [1, 1, 2, 1]
// CHECK: %[[R1:.*]] = tensor.extract_slice %[[P]][0, 0, 1, 0] [1, 8, 5, 12] [1, 1, 2, 1]
// CHECK: %[[R2:.*]] = tensor.extract_slice %[[P]][0, 0, 2, 0] [1, 8, 5, 12] [1, 1, 2, 1]
// CHECK: linalg.generic {{.*}} ins(%[[R0]], %[[R1]], %[[R2]] : {{.*}}) {{.*}} attrs = {kiln.group = [[G:.*]]}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x8x5x12xi32>, tensor<8x1x3xi32>) {{.*}} attrs = {kiln.dot = "u8 by i8", kiln.group = [[G]]}
func.func @main(%x: tensor<1x8x10x10xui8>) -> tensor<1x8x5x5xi32> {
  %w = kiln.weight 0 : tensor<8x1x3x3xi8>
  %0 = kiln.cast %x : tensor<1x8x10x10xui8> to tensor<1x8x10x10xi32>
  %1 = kiln.cast %w : tensor<8x1x3x3xi8> to tensor<8x1x3x3xi32>
  %2 = kiln.conv %0, %1 strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] group 8 : (tensor<1x8x10x10xi32>, tensor<8x1x3x3xi32>) -> tensor<1x8x5x5xi32>
  return %2 : tensor<1x8x5x5xi32>
}
