// Bytes less zero points are multiplied as they are, unsigned by signed, with the zero points' share subtracted.
// RUN: kiln-opt %s --kiln-seed-weights --kiln-byte-products --kiln-fold-constants --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @zero_point
// CHECK-SAME: %[[X:.*]]: tensor<4x512xui8>
func.func @zero_point(%x: tensor<4x512xui8>) -> tensor<4x300xi32> {
  // The sums of a constant are constants.
  // CHECK-DAG: %[[W:.*]] = kiln.weight 0 : tensor<512x300xi8>
  // CHECK-DAG: %[[A:.*]] = kiln.cast %[[X]] : tensor<4x512xui8> to tensor<4x512xi32>
  // CHECK-DAG: %[[B:.*]] = kiln.cast %[[W]] : tensor<512x300xi8> to tensor<512x300xi32>
  // CHECK: %[[Y:.*]] = kiln.matmul %[[A]], %[[B]]
  // CHECK: %[[SHIFT:.*]] = kiln.weight {{.*}} : tensor<1x300xi32>
  // CHECK: %[[S:.*]] = kiln.broadcast %[[SHIFT]]
  // CHECK: kiln.binary <sub> %[[Y]], %[[S]]
  %w = kiln.weight 0 : tensor<512x300xi8>
  %zero = kiln.constant dense<128> : tensor<4x512xi32>
  %0 = kiln.cast %x : tensor<4x512xui8> to tensor<4x512xi32>
  %1 = kiln.binary <sub> %0, %zero : tensor<4x512xi32>
  %2 = kiln.cast %w : tensor<512x300xi8> to tensor<512x300xi32>
  %3 = kiln.matmul %1, %2 : (tensor<4x512xi32>, tensor<512x300xi32>) -> tensor<4x300xi32>
  return %3 : tensor<4x300xi32>
}

// An unsigned weight around 128 becomes a signed one around 0.
// CHECK-LABEL: func.func @unsigned_weight
func.func @unsigned_weight(%x: tensor<4x512xui8>) -> tensor<4x300xi32> {
  // CHECK: kiln.cast %{{.*}} : tensor<512x300xi8> to tensor<512x300xi32>
  // CHECK: %[[Y:.*]] = kiln.matmul
  // CHECK-NEXT: return %[[Y]]
  %w = kiln.weight 1 : tensor<512x300xui8>
  %zero = kiln.constant dense<128> : tensor<512x300xi32>
  %0 = kiln.cast %x : tensor<4x512xui8> to tensor<4x512xi32>
  %1 = kiln.cast %w : tensor<512x300xui8> to tensor<512x300xi32>
  %2 = kiln.binary <sub> %1, %zero : tensor<512x300xi32>
  %3 = kiln.matmul %0, %2 : (tensor<4x512xi32>, tensor<512x300xi32>) -> tensor<4x300xi32>
  return %3 : tensor<4x300xi32>
}

// What surrounds an image is its zero point, and the share of that goes into the bias.
// CHECK-LABEL: func.func @convolution
// CHECK-SAME: %[[X:.*]]: tensor<1x16x8x8xui8>
func.func @convolution(%x: tensor<1x16x8x8xui8>) -> tensor<1x32x8x8xi32> {
  // CHECK-DAG: %[[ZERO:.*]] = kiln.constant dense<7> : tensor<ui8>
  // CHECK-DAG: %[[BIAS:.*]] = kiln.constant {{.*}} : tensor<32xi32>
  // CHECK: %[[P:.*]] = kiln.pad <constant> %[[X]], %[[ZERO]] low [0, 0, 1, 1] high [0, 0, 1, 1]
  // CHECK: %[[A:.*]] = kiln.cast %[[P]]
  // CHECK: kiln.conv %[[A]], %{{.*}} bias %[[BIAS]] strides [1, 1] pads [0, 0, 0, 0]
  %w = kiln.weight 2 : tensor<32x16x3x3xi8>
  %zero = kiln.constant dense<7> : tensor<1x16x8x8xi32>
  %0 = kiln.cast %x : tensor<1x16x8x8xui8> to tensor<1x16x8x8xi32>
  %1 = kiln.binary <sub> %0, %zero : tensor<1x16x8x8xi32>
  %2 = kiln.cast %w : tensor<32x16x3x3xi8> to tensor<32x16x3x3xi32>
  %3 = kiln.conv %1, %2 strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x16x8x8xi32>, tensor<32x16x3x3xi32>) -> tensor<1x32x8x8xi32>
  return %3 : tensor<1x32x8x8xi32>
}

// Neither of them constant: the second product's sums are made at run time, and one factor changes its sign.
// CHECK-LABEL: func.func @signed_factors
func.func @signed_factors(%x: tensor<4x64xi8>, %y: tensor<64x8xi8>) -> tensor<4x8xi32> {
  // CHECK: kiln.binary <xor>
  // CHECK: kiln.matmul
  // CHECK: kiln.reduce <sum>
  // CHECK: kiln.binary <sub>
  %0 = kiln.cast %x : tensor<4x64xi8> to tensor<4x64xi32>
  %1 = kiln.cast %y : tensor<64x8xi8> to tensor<64x8xi32>
  %2 = kiln.matmul %0, %1 : (tensor<4x64xi32>, tensor<64x8xi32>) -> tensor<4x8xi32>
  return %2 : tensor<4x8xi32>
}

// The rows of a depthwise window are steps of one sum; a window of more rows than a packed operand holds stays.
// CHECK-LABEL: func.func @depthwise
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8x8xui8>
func.func @depthwise(%x: tensor<1x4x8x8xui8>) -> (tensor<1x4x8x8xi32>, tensor<1x4x8x8xi32>) {
  // CHECK: kiln.pad <constant> %[[X]]
  // CHECK: kiln.conv {{.*}} bias %{{.*}} strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 4
  // CHECK: kiln.conv {{.*}} pads [2, 2, 2, 2] dilations [1, 1] group 4
  %w = kiln.weight 3 : tensor<4x1x3x3xi8>
  %v = kiln.weight 4 : tensor<4x1x5x5xi8>
  %zero = kiln.constant dense<7> : tensor<1x4x8x8xi32>
  %0 = kiln.cast %x : tensor<1x4x8x8xui8> to tensor<1x4x8x8xi32>
  %1 = kiln.binary <sub> %0, %zero : tensor<1x4x8x8xi32>
  %2 = kiln.cast %w : tensor<4x1x3x3xi8> to tensor<4x1x3x3xi32>
  %3 = kiln.conv %1, %2 strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 4 : (tensor<1x4x8x8xi32>, tensor<4x1x3x3xi32>) -> tensor<1x4x8x8xi32>
  %4 = kiln.cast %v : tensor<4x1x5x5xi8> to tensor<4x1x5x5xi32>
  %5 = kiln.conv %1, %4 strides [1, 1] pads [2, 2, 2, 2] dilations [1, 1] group 4 : (tensor<1x4x8x8xi32>, tensor<4x1x5x5xi32>) -> tensor<1x4x8x8xi32>
  return %3, %5 : tensor<1x4x8x8xi32>, tensor<1x4x8x8xi32>
}
