// What depends on values around the loop alone leaves it, through both loops where it can.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-hoist-invariants))' | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32>, %w: tensor<4x4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  // CHECK: %[[NEG:.*]] = kiln.unary <neg> %{{.*}} : tensor<4xf32>
  // CHECK: %[[T:.*]] = kiln.transpose
  // CHECK: kiln.loop
  %r:2 = kiln.loop trip %n : tensor<i64> carried(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<4xf32>):
    %neg = kiln.unary <neg> %x : tensor<4xf32>
    // CHECK: %[[ABS:.*]] = kiln.unary <abs>
    // CHECK: kiln.loop
    %q:2 = kiln.loop trip %n : tensor<i64> carried(%p) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) {
    ^bb0(%j: tensor<i64>, %s: tensor<4xf32>):
      %abs = kiln.unary <abs> %p : tensor<4xf32>
      %t = kiln.transpose %w [1, 0] : tensor<4x4xf32> to tensor<4x4xf32>
      // CHECK: kiln.reshape
      %row = kiln.reshape %s : tensor<4xf32> to tensor<1x4xf32>
      // CHECK: kiln.matmul %{{.*}}, %[[T]]
      %m = kiln.matmul %row, %t : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
      %flat = kiln.reshape %m : tensor<1x4xf32> to tensor<4xf32>
      // CHECK: kiln.binary <add> %{{.*}}, %[[ABS]]
      %sum = kiln.binary <add> %flat, %abs : tensor<4xf32>
      kiln.yield %sum : tensor<4xf32>
    }
    // CHECK: kiln.binary <mul> %{{.*}}, %[[NEG]]
    %o = kiln.binary <mul> %q#0, %neg : tensor<4xf32>
    kiln.yield %o : tensor<4xf32>
  }
  return %r#0 : tensor<4xf32>
}
