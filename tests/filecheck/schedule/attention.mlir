// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise),cse,func.func(kiln-tile),kiln-bufferize)' | FileCheck %s

// One kernel transposes and scales the queries; another makes the scores of a block of queries in memory of its own, masks
// them, and multiplies again. The mask is read where it lies.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[M:[a-z0-9]+]]: memref<256x512xf32> {kiln.input = 3
func.func @main(%q: tensor<1x2x256x64xf32>, %k: tensor<1x2x512x64xf32>, %v: tensor<1x2x512x64xf32>, %m: tensor<256x512xf32>) -> tensor<1x2x256x64xf32> {
  // CHECK: scf.forall
  // CHECK: rule = "elementwise"
  // CHECK: scf.forall
  // CHECK: memref.subview %[[M]]
  // CHECK: %[[S:.*]] = memref.alloc() {{.*}} : memref<1x1x512x[[L:[0-9]+]]xf32>
  // CHECK: arith.mulf
  // CHECK: arith.maximumf
  // CHECK: math.exp
  // CHECK: arith.divf
  // CHECK: rule = "attention", schedule = {pack = array<i64: 1>, steps = array<i64: 512>, tile = array<i64: 1, 1, [[L]], 64>
  // CHECK-NOT: scf.forall
  %b = kiln.broadcast %m : tensor<256x512xf32> to tensor<1x2x256x512xf32>
  %0 = kiln.attention %q, %k, %v mask %b scale 1.25e-1 : (tensor<1x2x256x64xf32>, tensor<1x2x512x64xf32>, tensor<1x2x512x64xf32>, tensor<1x2x256x512xf32>) -> tensor<1x2x256x64xf32>
  return %0 : tensor<1x2x256x64xf32>
}
