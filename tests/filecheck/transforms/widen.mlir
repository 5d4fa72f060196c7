// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-widen))' | FileCheck %s

// Sums of 16-bit floats are calculated in f32 and rounded once.
// CHECK-LABEL: func.func @sums
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf16>, %[[W:.*]]: tensor<3x4xf16>
func.func @sums(%x: tensor<2x3xf16>, %w: tensor<3x4xf16>) -> tensor<2x4xf16> {
  // CHECK-DAG: %[[A:.*]] = kiln.cast %[[X]] : tensor<2x3xf16> to tensor<2x3xf32>
  // CHECK-DAG: %[[B:.*]] = kiln.cast %[[W]] : tensor<3x4xf16> to tensor<3x4xf32>
  // CHECK: %[[P:.*]] = kiln.matmul %[[A]], %[[B]] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // CHECK: %[[R:.*]] = kiln.cast %[[P]] : tensor<2x4xf32> to tensor<2x4xf16>
  // CHECK: return %[[R]]
  %0 = kiln.matmul %x, %w : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}

// Unsigned order as signed order, by the highest bit.
// CHECK-LABEL: func.func @order
func.func @order(%x: tensor<2x3xui8>) -> (tensor<2xui8>, tensor<2xui8>) {
  // CHECK: %[[S:.*]] = kiln.bitcast %{{.*}} : tensor<2x3xui8> to tensor<2x3xi8>
  // CHECK: %[[T:.*]] = kiln.constant dense<-128> : tensor<i8>
  // CHECK: %[[F:.*]] = kiln.binary <xor> %[[S]], %{{.*}} : tensor<2x3xi8>
  // CHECK: %[[M:.*]] = kiln.reduce <max> %[[F]] axes [1] : tensor<2x3xi8> to tensor<2xi8>
  // CHECK: kiln.bitcast %{{.*}} : tensor<2xi8> to tensor<2xui8>
  %0 = kiln.reduce <max> %x axes [1] : tensor<2x3xui8> to tensor<2xui8>
  // Sums wrap all the same.
  // CHECK: kiln.reduce <sum> %{{.*}} axes [1] : tensor<2x3xui8> to tensor<2xui8>
  %1 = kiln.reduce <sum> %x axes [1] : tensor<2x3xui8> to tensor<2xui8>
  return %0, %1 : tensor<2xui8>, tensor<2xui8>
}

// CHECK-LABEL: func.func @untouched
// CHECK-NOT: kiln.cast
func.func @untouched(%x: tensor<2x3xf32>, %h: tensor<2x3xf16>) -> (tensor<2xf32>, tensor<2x3xf16>) {
  %0 = kiln.reduce <sum> %x axes [1] : tensor<2x3xf32> to tensor<2xf32>
  %1 = kiln.binary <add> %h, %h : tensor<2x3xf16>
  return %0, %1 : tensor<2xf32>, tensor<2x3xf16>
}
