// Loops and branches write their values into one buffer per value; values that only change places are saved first.
// RUN: kiln-opt %s --split-input-file --kiln-form-groups --kiln-lower-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32> {kiln.input = 0 : i64}
func.func @main(%x: tensor<4xf32>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i64>) {
  // CHECK: %[[A:.*]] = bufferization.materialize_in_destination %[[X]] in
  // CHECK: %[[B:.*]] = bufferization.materialize_in_destination %[[X]] in
  // CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %[[A]], %[[Q:.*]] = %[[B]])
  %r:3 = kiln.loop trip %n : tensor<i64> carried(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<4xf32>, %q: tensor<4xf32>):
    // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[Q]]
    %sum = kiln.binary <add> %p, %q : tensor<4xf32>
    // CHECK: %[[SAVED:.*]] = bufferization.materialize_in_destination %[[P]] in %{{.*}}
    // CHECK: %[[NEXTP:.*]] = bufferization.materialize_in_destination %[[SUM]] in %[[P]]
    // CHECK: %[[NEXTQ:.*]] = bufferization.materialize_in_destination %[[SAVED]] in %[[Q]]
    // CHECK: scf.yield %[[NEXTP]], %[[NEXTQ]]
    kiln.yield %sum, %p : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<i64>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32> {kiln.input = 0 : i64}
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  // CHECK: %[[TARGET:.*]] = bufferization.alloc_tensor() : tensor<4xf32>
  // CHECK: scf.if
  %0 = kiln.if %c : tensor<i1> to tensor<4xf32> {
    // CHECK: bufferization.materialize_in_destination %{{.*}} in %[[TARGET]]
    %1 = kiln.unary <neg> %x : tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  } else {
    // CHECK: else
    // CHECK: bufferization.materialize_in_destination %[[X]] in %[[TARGET]]
    kiln.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// A condition that the body changes: the number of iterations is counted.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<f32>, %c: tensor<i1>, %n: tensor<i64>) -> (tensor<f32>, tensor<i64>) {
  // CHECK: scf.while (%[[I:.*]] = %{{.*}}, %[[GO:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) : (i64, i1, tensor<f32>)
  // CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[I]], %{{.*}} : i64
  // CHECK: %[[MORE:.*]] = arith.andi %[[GO]], %[[BELOW]] : i1
  // CHECK: scf.condition(%[[MORE]])
  %r:2 = kiln.loop trip %n : tensor<i64> condition %c : tensor<i1> carried(%x) : (tensor<f32>) -> (tensor<f32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<f32>):
    %twice = kiln.binary <add> %p, %p : tensor<f32>
    %limit = kiln.constant dense<100.0> : tensor<f32>
    %more = kiln.compare <lt> %twice, %limit : tensor<f32>
    kiln.yield %more, %twice : tensor<i1>, tensor<f32>
  }
  return %r#0, %r#1 : tensor<f32>, tensor<i64>
}
