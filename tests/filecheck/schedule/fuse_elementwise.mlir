// A chain of one group becomes one operation that writes over the contraction's result; another group stays apart.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise))' | FileCheck %s

func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
  %0 = kiln.fused %x, %w, %b : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<4x6xf32> {
  ^bb0(%a: tensor<4x8xf32>, %c: tensor<8x6xf32>, %d: tensor<6xf32>):
    %1 = kiln.matmul %a, %c : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %2 = kiln.broadcast %d : tensor<6xf32> to tensor<4x6xf32>
    %3 = kiln.binary <add> %1, %2 : tensor<4x6xf32>
    %4 = kiln.unary <tanh> %3 : tensor<4x6xf32>
    kiln.yield %4 : tensor<4x6xf32>
  }
  %5 = kiln.unary <exp> %0 : tensor<4x6xf32>
  return %5 : tensor<4x6xf32>
}
// CHECK-LABEL: func.func @main
// CHECK: linalg.fill
// CHECK: %[[PRODUCT:.*]] = linalg.generic
// CHECK: %[[FUSED:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<6xf32>) outs(%[[PRODUCT]] : tensor<4x6xf32>) attrs = {{.*}}kiln.group = 0 : i64
// CHECK: arith.addf
// CHECK-NEXT: math.tanh
// CHECK-NEXT: linalg.yield
// CHECK: linalg.generic {{.*}} ins(%[[FUSED]] : tensor<4x6xf32>)
// CHECK: math.exp
// CHECK-NOT: linalg.generic
