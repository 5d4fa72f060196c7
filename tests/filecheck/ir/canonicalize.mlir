// Operations that do nothing fold away, and what nobody uses is dropped.
// RUN: kiln-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @nothing
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
func.func @nothing(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
  %0 = kiln.cast %x : tensor<2x3xf32> to tensor<2x3xf32>
  %1 = kiln.broadcast %x : tensor<2x3xf32> to tensor<2x3xf32>
  %2 = kiln.reshape %x : tensor<2x3xf32> to tensor<2x3xf32>
  %3 = kiln.transpose %x [0, 1] : tensor<2x3xf32> to tensor<2x3xf32>
  %4 = kiln.concat %x axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = kiln.slice %x offsets [0, 0] strides [1, 1] : tensor<2x3xf32> to tensor<2x3xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @reshapes
func.func @reshapes(%x: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<2x3xf32>) {
  // CHECK: kiln.reshape %{{.*}} : tensor<2x3xf32> to tensor<3x2xf32>
  // CHECK-NOT: kiln.reshape
  %0 = kiln.reshape %x : tensor<2x3xf32> to tensor<6xf32>
  %1 = kiln.reshape %0 : tensor<6xf32> to tensor<3x2xf32>
  %2 = kiln.reshape %0 : tensor<6xf32> to tensor<2x3xf32>
  return %1, %2 : tensor<3x2xf32>, tensor<2x3xf32>
}

// A reversal is not nothing.
// CHECK-LABEL: func.func @reversed
func.func @reversed(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: kiln.slice
  %0 = kiln.slice %x offsets [2] strides [-1] : tensor<3xf32> to tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @unused
func.func @unused(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: return
  %0 = kiln.weight 0 : tensor<3xf32>
  %1 = kiln.binary <add> %x, %0 : tensor<3xf32>
  %2 = kiln.fused %1 : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    %3 = kiln.unary <exp> %a : tensor<3xf32>
    kiln.yield %3 : tensor<3xf32>
  }
  return %x : tensor<3xf32>
}
