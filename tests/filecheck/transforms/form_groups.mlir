// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-form-groups))' | FileCheck %s

// A contraction takes its elementwise followers; broadcasts and constants are copied in.
// CHECK-LABEL: func.func @epilogue
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x3xf32>, %[[B:.*]]: tensor<3xf32>
func.func @epilogue(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
  // CHECK: %[[F:.*]] = kiln.fused %[[X]], %[[W]], %[[B]] : (tensor<4x8xf32>, tensor<8x3xf32>, tensor<3xf32>) -> tensor<4x3xf32> {
  // CHECK: kiln.constant dense<2.000000e+00>
  // CHECK: kiln.matmul
  // CHECK: kiln.binary <add>
  // CHECK: kiln.unary <relu>
  // CHECK: kiln.binary <mul>
  // CHECK: kiln.yield
  // CHECK: return %[[F]]
  %0 = kiln.matmul %x, %w : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = kiln.broadcast %b : tensor<3xf32> to tensor<4x3xf32>
  %2 = kiln.binary <add> %0, %1 : tensor<4x3xf32>
  %3 = kiln.unary <relu> %2 : tensor<4x3xf32>
  %c = kiln.constant dense<2.0> : tensor<4x3xf32>
  %4 = kiln.binary <mul> %3, %c : tensor<4x3xf32>
  return %4 : tensor<4x3xf32>
}

// x * sigmoid(x): both uses are inside.
// CHECK-LABEL: func.func @diamond
func.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: kiln.fused
  // CHECK: kiln.unary <exp>
  // CHECK: kiln.unary <sigmoid>
  // CHECK: kiln.binary <mul>
  // CHECK-NOT: kiln.fused
  %0 = kiln.unary <exp> %x : tensor<4xf32>
  %1 = kiln.unary <sigmoid> %0 : tensor<4xf32>
  %2 = kiln.binary <mul> %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Two contractions are two kernels, and what feeds one is left in memory; a single operation needs no group.
// CHECK-LABEL: func.func @anchors
func.func @anchors(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: %[[E:.*]] = kiln.unary <exp>
  // CHECK: %[[F:.*]] = kiln.fused %[[E]], %{{.*}}
  // CHECK: kiln.matmul
  // CHECK: kiln.unary <relu>
  // CHECK: kiln.yield
  // CHECK: %[[M:.*]] = kiln.matmul %[[F]], %{{.*}}
  // CHECK-NEXT: return %[[M]]
  %0 = kiln.unary <exp> %x : tensor<4x4xf32>
  %1 = kiln.matmul %0, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = kiln.unary <relu> %1 : tensor<4x4xf32>
  %3 = kiln.matmul %2, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// A value that is also a result of the model, or is used by two groups, ends its group.
// CHECK-LABEL: func.func @shared
func.func @shared(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[A:.*]] = kiln.fused
  // CHECK: kiln.unary <abs>
  // CHECK: kiln.unary <exp>
  // CHECK: kiln.yield
  // CHECK: %[[B:.*]] = kiln.fused %[[A]]
  // CHECK: kiln.unary <neg>
  // CHECK: kiln.unary <tanh>
  // CHECK: return %[[A]], %[[B]]
  %0 = kiln.unary <abs> %x : tensor<4xf32>
  %1 = kiln.unary <exp> %0 : tensor<4xf32>
  %2 = kiln.unary <neg> %1 : tensor<4xf32>
  %3 = kiln.unary <tanh> %2 : tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// Of two products that meet, the earlier one's kernel ends where its results are quantised, so that what lies in memory
// between the two is bytes.
// CHECK-LABEL: func.func @quantised_branch
func.func @quantised_branch(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: %[[Q:.*]] = kiln.fused {{.*}} -> tensor<4x4xui8> {
  // CHECK: kiln.matmul
  // CHECK: kiln.unary <relu>
  // CHECK: kiln.cast %{{.*}} : tensor<4x4xf32> to tensor<4x4xui8>
  // CHECK: kiln.yield
  // CHECK: kiln.fused {{.*}}%[[Q]]{{.*}} -> tensor<4x4xf32> {
  // CHECK: kiln.cast %{{.*}} : tensor<4x4xui8> to tensor<4x4xf32>
  // CHECK: kiln.matmul
  // CHECK: kiln.binary <add>
  %0 = kiln.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = kiln.unary <relu> %0 : tensor<4x4xf32>
  %2 = kiln.cast %1 : tensor<4x4xf32> to tensor<4x4xui8>
  %3 = kiln.cast %2 : tensor<4x4xui8> to tensor<4x4xf32>
  %4 = kiln.matmul %w, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = kiln.binary <add> %3, %4 : tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}
