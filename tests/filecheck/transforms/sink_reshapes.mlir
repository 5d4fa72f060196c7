// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-sink-reshapes))' | FileCheck %s

// The formula of a mean that keeps its dimension is on the rows themselves.
// CHECK-LABEL: func.func @kept
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
func.func @kept(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  // CHECK-DAG: %[[N:.*]] = kiln.constant dense<8.000000e+00> : tensor<4xf32>
  // CHECK-DAG: %[[S:.*]] = kiln.reduce <sum> %[[X]]
  // CHECK: %[[M:.*]] = kiln.binary <div> %[[S]], %[[N]] : tensor<4xf32>
  // CHECK: %[[R:.*]] = kiln.unary <sqrt> %[[M]] : tensor<4xf32>
  // CHECK: %[[K:.*]] = kiln.reshape %[[R]] : tensor<4xf32> to tensor<4x1xf32>
  // CHECK-NEXT: return %[[K]]
  %n = kiln.constant dense<8.0> : tensor<4x1xf32>
  %0 = kiln.reduce <sum> %x axes [1] : tensor<4x8xf32> to tensor<4xf32>
  %1 = kiln.reshape %0 : tensor<4xf32> to tensor<4x1xf32>
  %2 = kiln.binary <div> %1, %n : tensor<4x1xf32>
  %3 = kiln.unary <sqrt> %2 : tensor<4x1xf32>
  return %3 : tensor<4x1xf32>
}

// Rows of all sequences meet the bias of their columns.
// CHECK-LABEL: func.func @bias
// CHECK-SAME: %[[X:.*]]: tensor<6x5xf32>, %[[B:.*]]: tensor<5xf32>, %[[P:.*]]: tensor<2x1x1xf32>
func.func @bias(%x: tensor<6x5xf32>, %b: tensor<5xf32>, %p: tensor<2x1x1xf32>) -> tensor<2x3x5xf32> {
  // CHECK: %[[W:.*]] = kiln.broadcast %{{.*}} to tensor<6x5xf32>
  // CHECK: %[[A:.*]] = kiln.binary <add> %[[X]], %[[W]] : tensor<6x5xf32>
  // CHECK: %[[V:.*]] = kiln.reshape %[[A]] : tensor<6x5xf32> to tensor<2x3x5xf32>
  // One number per sequence is neither one per row nor one for all rows.
  // CHECK: %[[Q:.*]] = kiln.broadcast %[[P]] : tensor<2x1x1xf32> to tensor<2x3x5xf32>
  // CHECK: kiln.binary <mul> %[[V]], %[[Q]] : tensor<2x3x5xf32>
  %0 = kiln.reshape %x : tensor<6x5xf32> to tensor<2x3x5xf32>
  %1 = kiln.broadcast %b : tensor<5xf32> to tensor<2x3x5xf32>
  %2 = kiln.binary <add> %0, %1 : tensor<2x3x5xf32>
  %3 = kiln.broadcast %p : tensor<2x1x1xf32> to tensor<2x3x5xf32>
  %4 = kiln.binary <mul> %2, %3 : tensor<2x3x5xf32>
  return %4 : tensor<2x3x5xf32>
}

// What comes in its full shape stays there.
// CHECK-LABEL: func.func @other
func.func @other(%x: tensor<6x5xf32>, %y: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  // CHECK: kiln.binary <add> %{{.*}}, %{{.*}} : tensor<2x3x5xf32>
  %0 = kiln.reshape %x : tensor<6x5xf32> to tensor<2x3x5xf32>
  %1 = kiln.binary <add> %0, %y : tensor<2x3x5xf32>
  return %1 : tensor<2x3x5xf32>
}
