// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-recognise-attention))' | FileCheck %s

// The factors around the product become the scale, the keys lose their transpose.
// CHECK-LABEL: func.func @masked
// CHECK-SAME: %[[Q:.*]]: tensor<2x3x5x8xf32>, %[[K:.*]]: tensor<2x3x7x8xf32>, %[[V:.*]]: tensor<2x3x7x4xf32>, %[[M:.*]]: tensor<2x3x5x7xf32>
func.func @masked(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>, %v: tensor<2x3x7x4xf32>, %m: tensor<2x3x5x7xf32>) -> tensor<2x3x5x4xf32> {
  // CHECK: %[[R:.*]] = kiln.attention %[[Q]], %[[K]], %[[V]] mask %[[M]] scale 2.500000e-01
  // CHECK-NEXT: return %[[R]]
  %c = kiln.constant dense<4.0> : tensor<2x3x5x7xf32>
  %t = kiln.transpose %k [0, 1, 3, 2] : tensor<2x3x7x8xf32> to tensor<2x3x8x7xf32>
  %p = kiln.matmul %q, %t : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %s = kiln.binary <div> %p, %c : tensor<2x3x5x7xf32>
  %a = kiln.binary <add> %m, %s : tensor<2x3x5x7xf32>
  %w = kiln.softmax %a axis 3 : tensor<2x3x5x7xf32>
  %r = kiln.matmul %w, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %r : tensor<2x3x5x4xf32>
}

// Fewer dimensions gain ones; keys that come transposed are transposed back.
// CHECK-LABEL: func.func @one_head
// CHECK-SAME: %[[Q:.*]]: tensor<5x8xf32>, %[[K:.*]]: tensor<8x7xf32>, %[[V:.*]]: tensor<7x4xf32>
func.func @one_head(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  // CHECK-DAG: %[[T:.*]] = kiln.transpose %[[K]] [1, 0]
  // CHECK-DAG: %[[K4:.*]] = kiln.reshape %[[T]] : tensor<7x8xf32> to tensor<1x1x7x8xf32>
  // CHECK-DAG: %[[Q4:.*]] = kiln.reshape %[[Q]] : tensor<5x8xf32> to tensor<1x1x5x8xf32>
  // CHECK-DAG: %[[V4:.*]] = kiln.reshape %[[V]] : tensor<7x4xf32> to tensor<1x1x7x4xf32>
  // CHECK: %[[A:.*]] = kiln.attention %[[Q4]], %[[K4]], %[[V4]] scale 1.000000e+00
  // CHECK: kiln.reshape %[[A]] : tensor<1x1x5x4xf32> to tensor<5x4xf32>
  %p = kiln.matmul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %w = kiln.softmax %p axis 1 : tensor<5x7xf32>
  %r = kiln.matmul %w, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %r : tensor<5x4xf32>
}

// Probabilities that are wanted, or a softmax along another axis, stay as they are.
// CHECK-LABEL: func.func @not_attention
func.func @not_attention(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) -> (tensor<5x4xf32>, tensor<5x7xf32>, tensor<5x4xf32>) {
  // CHECK-NOT: kiln.attention
  %p = kiln.matmul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %w = kiln.softmax %p axis 1 : tensor<5x7xf32>
  %r = kiln.matmul %w, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  %o = kiln.matmul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %x = kiln.softmax %o axis 0 : tensor<5x7xf32>
  %y = kiln.matmul %x, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %r, %w, %y : tensor<5x4xf32>, tensor<5x7xf32>, tensor<5x4xf32>
}
