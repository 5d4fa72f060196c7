// From the kiln dialect to linalg: weights become arguments, i1 becomes i8, bodies of groups are inlined with their number.
// RUN: kiln-opt %s --kiln-lower-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32> {kiln.input = 0 : i64, kiln.name = "x"}
// CHECK-SAME: %[[FLAG:.*]]: tensor<4xi8> {kiln.input = 1 : i64}
// CHECK-SAME: %[[W:.*]]: tensor<8x6xf32> {kiln.permutation = array<i64: 1, 0>, kiln.source = 3 : i64, kiln.weight = 0 : i64}
// CHECK-SAME: %[[B:.*]]: tensor<6xf32> {kiln.source = 1 : i64, kiln.weight = 1 : i64}
func.func @main(%x: tensor<4x8xf32> {kiln.name = "x"}, %flag: tensor<4xi1>) -> (tensor<4x6xf32>, tensor<4xi1>) {
  %w = kiln.weight 3 : tensor<6x8xf32>
  // A transposed weight is a layout of its own, not a computation.
  // CHECK-NOT: linalg.transpose
  %t = kiln.transpose %w [1, 0] : tensor<6x8xf32> to tensor<8x6xf32>
  %b = kiln.weight 1 : tensor<6xf32>
  // CHECK: %[[ZERO:.*]] = linalg.fill {kiln.group = [[GROUP:.*]] : i64}
  // CHECK: %[[PRODUCT:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[X]], %[[W]]
  // CHECK-SAME: outs(%[[ZERO]]
  // CHECK-SAME: kiln.group = [[GROUP]] : i64
  // CHECK: arith.mulf
  // CHECK: arith.addf
  // CHECK: linalg.generic {{.*}} ins(%[[B]] : tensor<6xf32>){{.*}}kiln.group = [[GROUP]] : i64
  %0 = kiln.fused %x, %t, %b : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<4x6xf32> {
  ^bb0(%a: tensor<4x8xf32>, %c: tensor<8x6xf32>, %d: tensor<6xf32>):
    %1 = kiln.matmul %a, %c : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %2 = kiln.broadcast %d : tensor<6xf32> to tensor<4x6xf32>
    %3 = kiln.binary <add> %1, %2 : tensor<4x6xf32>
    kiln.yield %3 : tensor<4x6xf32>
  }
  // CHECK: linalg.generic {{.*}} ins(%[[FLAG]] : tensor<4xi8>)
  // CHECK: arith.xori {{.*}} : i8
  %4 = kiln.unary <not> %flag : tensor<4xi1>
  // CHECK: return {{.*}} : tensor<4x6xf32>, tensor<4xi8>
  return %0, %4 : tensor<4x6xf32>, tensor<4xi1>
}
