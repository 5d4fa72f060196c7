// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-sink-transposes))' | FileCheck %s

// A chain between two layouts loses both transposes; the vector of channels only changes its place.
// CHECK-LABEL: func.func @cancel
// CHECK-SAME: %[[X:.*]]: tensor<1x8x4x4xf32>, %[[C:.*]]: tensor<8xf32>
func.func @cancel(%x: tensor<1x8x4x4xf32>, %c: tensor<8xf32>) -> tensor<1x8x4x4xf32> {
  // CHECK: %[[V:.*]] = kiln.reshape %[[C]] : tensor<8xf32> to tensor<1x8x1x1xf32>
  // CHECK: %[[B:.*]] = kiln.broadcast %[[V]] : tensor<1x8x1x1xf32> to tensor<1x8x4x4xf32>
  // CHECK: %[[A:.*]] = kiln.binary <add> %[[X]], %[[B]] : tensor<1x8x4x4xf32>
  // CHECK: %[[R:.*]] = kiln.unary <relu> %[[A]] : tensor<1x8x4x4xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = kiln.transpose %x [0, 2, 3, 1] : tensor<1x8x4x4xf32> to tensor<1x4x4x8xf32>
  %1 = kiln.broadcast %c : tensor<8xf32> to tensor<1x4x4x8xf32>
  %2 = kiln.binary <add> %0, %1 : tensor<1x4x4x8xf32>
  %3 = kiln.unary <relu> %2 : tensor<1x4x4x8xf32>
  %4 = kiln.transpose %3 [0, 3, 1, 2] : tensor<1x4x4x8xf32> to tensor<1x8x4x4xf32>
  return %4 : tensor<1x8x4x4xf32>
}

// CHECK-LABEL: func.func @axes
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
func.func @axes(%x: tensor<2x3x4xf32>) -> (tensor<4x2xf32>, tensor<4x2x3xf32>) {
  // CHECK-DAG: %[[S:.*]] = kiln.softmax %[[X]] axis 0 : tensor<2x3x4xf32>
  // CHECK-DAG: %[[M:.*]] = kiln.reduce <max> %[[X]] axes [1] : tensor<2x3x4xf32> to tensor<2x4xf32>
  // CHECK-DAG: kiln.transpose %[[M]] [1, 0]
  // CHECK-DAG: kiln.transpose %[[S]] [2, 0, 1]
  %0 = kiln.transpose %x [2, 0, 1] : tensor<2x3x4xf32> to tensor<4x2x3xf32>
  %1 = kiln.reduce <max> %0 axes [2] : tensor<4x2x3xf32> to tensor<4x2xf32>
  %2 = kiln.softmax %0 axis 1 : tensor<4x2x3xf32>
  return %1, %2 : tensor<4x2xf32>, tensor<4x2x3xf32>
}

// CHECK-LABEL: func.func @concat
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>, %[[Y:.*]]: tensor<2x5xf32>
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x5xf32>) -> tensor<8x2xf32> {
  // CHECK: %[[C:.*]] = kiln.concat %[[X]], %[[Y]] axis 1
  // CHECK: kiln.transpose %[[C]] [1, 0]
  %0 = kiln.transpose %x [1, 0] : tensor<2x3xf32> to tensor<3x2xf32>
  %1 = kiln.transpose %y [1, 0] : tensor<2x5xf32> to tensor<5x2xf32>
  %2 = kiln.concat %0, %1 axis 0 : (tensor<3x2xf32>, tensor<5x2xf32>) -> tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}

// Operands in different orders, sums whose order of elements would change, and transposes that others need stay.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<3x3xf32>, %y: tensor<3x3xf32>, %z: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<f32>, tensor<3x3xf32>) {
  // CHECK: kiln.transpose
  // CHECK: kiln.binary <add> %{{.*}}, %{{.*}} : tensor<3x3xf32>
  // CHECK: kiln.transpose
  // CHECK: kiln.reduce <sum> %{{.*}} axes [0, 1]
  // CHECK: kiln.matmul
  %0 = kiln.transpose %x [1, 0] : tensor<3x3xf32> to tensor<3x3xf32>
  %1 = kiln.binary <add> %0, %y : tensor<3x3xf32>
  %2 = kiln.transpose %z [1, 0] : tensor<3x3xf32> to tensor<3x3xf32>
  %3 = kiln.reduce <sum> %2 axes [0, 1] : tensor<3x3xf32> to tensor<f32>
  %4 = kiln.matmul %0, %y : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return %1, %3, %4 : tensor<3x3xf32>, tensor<f32>, tensor<3x3xf32>
}
