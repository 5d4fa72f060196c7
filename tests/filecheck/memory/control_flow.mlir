// A loop hands on one buffer from iteration to iteration; branches write into one buffer.
// RUN: kiln-opt %s --kiln-form-groups --kiln-lower-to-linalg --kiln-fuse-elementwise --cse --kiln-tile --kiln-bufferize | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<64xf32>, %n: tensor<i64>, %c: tensor<i1>) -> tensor<64xf32> {
  // CHECK: %[[CHOSEN:.*]] = memref.alloc() {{.*}} : memref<64xf32>
  // CHECK: %[[STATE:.*]] = memref.alloc() {{.*}} : memref<64xf32>
  // CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
  // CHECK-NEXT: %[[NEXT:.*]] = memref.alloc() {{.*}} : memref<64xf32>
  // CHECK-NEXT: scf.forall
  // CHECK-NEXT: memref.subview %[[STATE]]
  // CHECK-NEXT: memref.subview %[[NEXT]]
  // CHECK: linalg.generic {{.*}} ins(%[[NEXT]] : memref<64xf32>) outs(%[[STATE]] : memref<64xf32>)
  %r:2 = kiln.loop trip %n : tensor<i64> carried(%x) : (tensor<64xf32>) -> (tensor<64xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<64xf32>):
    %twice = kiln.binary <add> %p, %p : tensor<64xf32>
    kiln.yield %twice : tensor<64xf32>
  }
  // CHECK: scf.if %{{.*}} {
  // CHECK: memref.subview %[[CHOSEN]]
  // CHECK: } else {
  // CHECK: outs(%[[CHOSEN]] : memref<64xf32>)
  %0 = kiln.if %c : tensor<i1> to tensor<64xf32> {
    %1 = kiln.unary <neg> %r#0 : tensor<64xf32>
    kiln.yield %1 : tensor<64xf32>
  } else {
    kiln.yield %x : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}
