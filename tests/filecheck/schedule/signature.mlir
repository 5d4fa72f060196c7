// A kernel that can stand by itself has a signature, which says nothing of its place, its names or its data: layers that differ
// in these alone share it. The text is that of kiln-cc plan; kiln-tile makes the same of it again
// (tests/compiler_core/tuner/kernel_compiler_test.cc).
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise,kiln-tile{target=cpu:x86-64-v3}))' | FileCheck %s

func.func @main(%x: tensor<24x32xf32>) -> (tensor<24x2xf32>, tensor<24x32xf32>) {
  %w = kiln.weight 0 : tensor<32x32xf32>
  %v = kiln.weight 1 : tensor<32x32xf32>
  %u = kiln.weight 2 : tensor<32x2xf32>
  %b = kiln.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = kiln.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = kiln.matmul %x, %w : (tensor<24x32xf32>, tensor<32x32xf32>) -> tensor<24x32xf32>
  %1 = kiln.matmul %0, %v : (tensor<24x32xf32>, tensor<32x32xf32>) -> tensor<24x32xf32>
  %2 = kiln.fused %1, %u, %b : (tensor<24x32xf32>, tensor<32x2xf32>, tensor<2xf32>) -> tensor<24x2xf32> {
  ^bb0(%p: tensor<24x32xf32>, %q: tensor<32x2xf32>, %r: tensor<2xf32>):
    %3 = kiln.matmul %p, %q : (tensor<24x32xf32>, tensor<32x2xf32>) -> tensor<24x2xf32>
    %4 = kiln.broadcast %r : tensor<2xf32> to tensor<24x2xf32>
    %5 = kiln.binary <add> %3, %4 : tensor<24x2xf32>
    kiln.yield %5 : tensor<24x2xf32>
  }
  %6 = kiln.fused %1, %u, %c : (tensor<24x32xf32>, tensor<32x2xf32>, tensor<2xf32>) -> tensor<24x2xf32> {
  ^bb0(%p: tensor<24x32xf32>, %q: tensor<32x2xf32>, %r: tensor<2xf32>):
    %7 = kiln.matmul %p, %q : (tensor<24x32xf32>, tensor<32x2xf32>) -> tensor<24x2xf32>
    %8 = kiln.broadcast %r : tensor<2xf32> to tensor<24x2xf32>
    %9 = kiln.binary <add> %7, %8 : tensor<24x2xf32>
    kiln.yield %9 : tensor<24x2xf32>
  }
  %10 = kiln.binary <add> %2, %6 : tensor<24x2xf32>
  return %10, %1 : tensor<24x2xf32>, tensor<24x32xf32>
}
// CHECK: rule = "contraction", {{.*}}signature = "sha256:[[SQUARE:[0-9a-f]+]]"
// CHECK: rule = "contraction", {{.*}}signature = "sha256:[[SQUARE]]"
// CHECK: rule = "contraction", {{.*}}signature = "sha256:[[NARROW:[0-9a-f]+]]"
// CHECK: rule = "contraction", {{.*}}signature = "sha256:[[NARROW]]"
