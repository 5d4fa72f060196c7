// A batch normalisation behind a convolution goes into filter and bias; elsewhere it stays.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-batch-norm),canonicalize)' | FileCheck %s

// factor = scale / sqrt(variance + epsilon) = [1, 4]; filter = [2, 3] * factor; bias = (bias - mean) * factor + offset
// CHECK-LABEL: func.func @folded
func.func @folded(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  // CHECK-DAG: %[[W:.*]] = kiln.constant dense<{{\[\[\[\[}}2.000000e+00]]], {{\[\[\[}}1.200000e+01]]]]> : tensor<2x1x1x1xf32>
  // CHECK-DAG: %[[B:.*]] = kiln.constant dense<[9.500000e+00, 2.000000e+00]> : tensor<2xf32>
  // CHECK: %[[R:.*]] = kiln.conv %{{.*}}, %[[W]] bias %[[B]]
  // CHECK-NOT: kiln.batch_norm
  // CHECK: return %[[R]]
  %w = kiln.constant dense<[[[[2.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %b = kiln.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %scale = kiln.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %offset = kiln.constant dense<[9.0, -10.0]> : tensor<2xf32>
  %mean = kiln.constant dense<[0.5, -2.0]> : tensor<2xf32>
  %variance = kiln.constant dense<[3.0, 0.0]> : tensor<2xf32>
  %0 = kiln.conv %x, %w bias %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %1 = kiln.batch_norm %0, %scale, %offset, %mean, %variance epsilon 1.0 : tensor<1x2x4x4xf32>, tensor<2xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// The convolution's own result is needed too.
// CHECK-LABEL: func.func @shared
func.func @shared(%x: tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  // CHECK: kiln.batch_norm
  %w = kiln.constant dense<2.0> : tensor<1x1x1x1xf32>
  %p = kiln.constant dense<1.0> : tensor<1xf32>
  %0 = kiln.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %1 = kiln.batch_norm %0, %p, %p, %p, %p epsilon 1.0e-5 : tensor<1x1x4x4xf32>, tensor<1xf32>
  return %0, %1 : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// Parameters that are inputs cannot be folded.
// CHECK-LABEL: func.func @computed
func.func @computed(%x: tensor<1x1x4x4xf32>, %p: tensor<1xf32>) -> tensor<1x1x4x4xf32> {
  // CHECK: kiln.batch_norm
  %w = kiln.constant dense<2.0> : tensor<1x1x1x1xf32>
  %0 = kiln.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %1 = kiln.batch_norm %0, %p, %p, %p, %p epsilon 1.0e-5 : tensor<1x1x4x4xf32>, tensor<1xf32>
  return %1 : tensor<1x1x4x4xf32>
}
