// Exact identities only.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-simplify))' | FileCheck %s

// CHECK-LABEL: func.func @neutral
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @neutral(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NOT: kiln.binary
  // CHECK: return %[[X]], %[[X]]
  %one = kiln.constant dense<1.0> : tensor<4xf32>
  %zero = kiln.constant dense<0.0> : tensor<4xf32>
  %minus = kiln.constant dense<-0.0> : tensor<4xf32>
  %0 = kiln.binary <mul> %one, %x : tensor<4xf32>
  %1 = kiln.binary <div> %0, %one : tensor<4xf32>
  %2 = kiln.binary <sub> %1, %zero : tensor<4xf32>
  %3 = kiln.binary <add> %2, %minus : tensor<4xf32>
  %4 = kiln.unary <neg> %x : tensor<4xf32>
  %5 = kiln.unary <neg> %4 : tensor<4xf32>
  return %3, %5 : tensor<4xf32>, tensor<4xf32>
}

// -0 + 0 is 0 and -0 - -0 is 0: neither may go.
// CHECK-LABEL: func.func @not_exact
func.func @not_exact(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: kiln.binary <add>
  // CHECK: kiln.binary <sub>
  %zero = kiln.constant dense<0.0> : tensor<4xf32>
  %minus = kiln.constant dense<-0.0> : tensor<4xf32>
  %0 = kiln.binary <add> %x, %zero : tensor<4xf32>
  %1 = kiln.binary <sub> %0, %minus : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @relu
func.func @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[R:.*]] = kiln.unary <relu> %{{.*}} : tensor<4xf32>
  // CHECK-NEXT: return %[[R]]
  %zero = kiln.constant dense<0.0> : tensor<4xf32>
  %0 = kiln.binary <max> %x, %zero : tensor<4xf32>
  %1 = kiln.unary <relu> %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<2x3x4xf32>, %y: tensor<1x5xf32>) -> (tensor<4x2x3xf32>, tensor<5x1xf32>, tensor<3x4x5xf32>) {
  // CHECK-DAG: kiln.transpose %{{.*}} [2, 0, 1] : tensor<2x3x4xf32> to tensor<4x2x3xf32>
  // CHECK-DAG: kiln.reshape %{{.*}} : tensor<1x5xf32> to tensor<5x1xf32>
  // CHECK-DAG: kiln.broadcast %{{.*}} : tensor<1x5xf32> to tensor<3x4x5xf32>
  %0 = kiln.transpose %x [1, 0, 2] : tensor<2x3x4xf32> to tensor<3x2x4xf32>
  %1 = kiln.transpose %0 [2, 1, 0] : tensor<3x2x4xf32> to tensor<4x2x3xf32>
  %2 = kiln.transpose %y [1, 0] : tensor<1x5xf32> to tensor<5x1xf32>
  %3 = kiln.broadcast %y : tensor<1x5xf32> to tensor<4x5xf32>
  %4 = kiln.broadcast %3 : tensor<4x5xf32> to tensor<3x4x5xf32>
  return %1, %2, %4 : tensor<4x2x3xf32>, tensor<5x1xf32>, tensor<3x4x5xf32>
}
