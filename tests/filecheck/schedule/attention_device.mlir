// Attention on a device: one kernel that goes through the keys tile by tile, whatever their number.
// RUN: kiln-opt %s --split-input-file --pass-pipeline='builtin.module(kiln-lower-to-linalg{device=true},func.func(kiln-fuse-elementwise,kiln-tile{device=true}),kiln-bufferize,func.func(kiln-map-to-gpu))' | FileCheck %s

func.func @main(%q: tensor<2x3x197x64xf32>, %k: tensor<2x3x4000x64xf32>, %v: tensor<2x3x4000x64xf32>) -> tensor<2x3x197x64xf32> {
  %0 = kiln.attention %q, %k, %v scale 1.25e-1 : (tensor<2x3x197x64xf32>, tensor<2x3x4000x64xf32>, tensor<2x3x4000x64xf32>) -> tensor<2x3x197x64xf32>
  return %0 : tensor<2x3x197x64xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NOT: memref.alloc
// CHECK: scf.forall {{.*}} = (0, 0, 0) to (2, 3, 197) step (1, 1, 64)
// CHECK: gpu.thread_id x upper_bound 256
// The scores of 64 queries and 32 keys.
// CHECK: memref.alloc() {{.*}} : memref<32x68xf32>
// CHECK: %[[LOW:.*]] = arith.constant 0xFF800000 : f32
// CHECK: scf.for {{.*}} to %c4000
// CHECK: scf.for {{.*}} to %c64
// CHECK: math.fma
// CHECK: gpu.barrier
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: gpu.barrier
// CHECK: math.exp
// CHECK: gpu.barrier
// CHECK: math.fma
// CHECK: arith.divf
// CHECK: rule = "device attention", schedule = {threads = array<i64: 256>, tile = array<i64: 1, 1, 64>

// -----

func.func @main(%q: tensor<1x2x64x64xf16>, %k: tensor<1x2x64x64xf16>, %v: tensor<1x2x64x64xf16>) -> tensor<1x2x64x64xf32> {
  %0 = kiln.cast %q : tensor<1x2x64x64xf16> to tensor<1x2x64x64xf32>
  %1 = kiln.cast %k : tensor<1x2x64x64xf16> to tensor<1x2x64x64xf32>
  %2 = kiln.cast %v : tensor<1x2x64x64xf16> to tensor<1x2x64x64xf32>
  %3 = kiln.attention %0, %1, %2 scale 1.25e-1 : (tensor<1x2x64x64xf32>, tensor<1x2x64x64xf32>, tensor<1x2x64x64xf32>) -> tensor<1x2x64x64xf32>
  return %3 : tensor<1x2x64x64xf32>
}
// CHECK-LABEL: func.func @main
// CHECK: nvvm.mma.sync
// CHECK: math.exp
// A weight as the sum of two numbers of 16 bits.
// CHECK: %[[WEIGHT:.*]] = math.exp
// CHECK: arith.truncf %[[WEIGHT]] : f32 to f16
// CHECK: %[[MOST:.*]] = arith.extf
// CHECK: %[[REST:.*]] = arith.subf %[[WEIGHT]], %[[MOST]]
// CHECK: arith.truncf %[[REST]] : f32 to f16
// CHECK: nvvm.mma.sync
