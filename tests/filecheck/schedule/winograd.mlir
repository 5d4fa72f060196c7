// A convolution whose schedule asks for Winograd's tiles of 2 x 2 results reads its weights as points in panels of channels.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-vectorize))' | FileCheck %s

// Thirty-two channels are two panels of two registers, each with sixteen points of the eight channels of the input; the plain
// weight is gone.
// CHECK-LABEL: func.func @main
// CHECK-SAME: memref<2x16x8x16xf32> {kiln.panels = 16 : i64, kiln.source = 0 : i64, kiln.weight = 0 : i64, kiln.winograd = 2 : i64}
// CHECK-NOT: kiln.source = 0
// CHECK: scf.forall

// Sixteen transformed tiles, each point a cache line more than they take; the window of eight channels is transposed first.
// CHECK: %[[POINTS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2304xf32>
// CHECK: %[[TRANSPOSED:.*]] = memref.alloc() {alignment = 64 : i64} : memref<800xf32>
// CHECK: vector.shuffle
// CHECK: vector.store {{.*}}, %[[TRANSPOSED]]
// CHECK: affine.min
// CHECK: vector.load %[[TRANSPOSED]]
// CHECK: arith.subf {{.*}} : vector<8xf32>
// CHECK: vector.store {{.*}}, %[[POINTS]]

// A panel: for each point tiles by channels, then sums of positions by channels, then results.
// CHECK: %[[PRODUCTS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4352xf32>
// CHECK: %[[SUMS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<1024xf32>
// CHECK: scf.for {{.*}} = %c0{{.*}} to %c32{{.*}} step %c16
// CHECK: scf.for {{.*}} = %c0{{.*}} to %c16{{.*}} step %c1
// CHECK: memref.reinterpret_cast %[[POINTS]]
// CHECK: memref.reinterpret_cast %arg1
// CHECK: memref.reinterpret_cast %[[PRODUCTS]]
// CHECK: scf.for {{.*}} iter_args
// CHECK: math.fma
// CHECK: vector.load %[[PRODUCTS]]
// CHECK: vector.store {{.*}}, %[[SUMS]]
// CHECK: vector.load %[[SUMS]]
// CHECK: vector.shuffle
// CHECK: vector.store {{.*}} : memref<16x64xf32
// CHECK: kiln.kernel = {{.*}}winograd = array<i64: 2>
#map = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
module {
  func.func @main(%arg0: memref<1x8x10x10xf32> {kiln.input = 0 : i64}, %arg1: memref<32x8x3x3xf32> {kiln.source = 0 : i64, kiln.weight = 0 : i64}, %arg2: memref<1x32x8x8xf32> {kiln.output = 0 : i64}) {
    %cst = arith.constant 0.000000e+00 : f32
    scf.forall (%arg3) in (1) {
      %subview = memref.subview %arg0[%arg3, 0, 0, 0] [1, 8, 10, 10] [1, 1, 1, 1] : memref<1x8x10x10xf32> to memref<1x8x10x10xf32, strided<[800, 100, 10, 1], offset: ?>>
      %subview_0 = memref.subview %arg1[0, 0, 0, 0] [32, 8, 3, 3] [1, 1, 1, 1] : memref<32x8x3x3xf32> to memref<32x8x3x3xf32, strided<[72, 9, 3, 1]>>
      %subview_1 = memref.subview %arg2[%arg3, 0, 0, 0] [1, 32, 8, 8] [1, 1, 1, 1] : memref<1x32x8x8xf32> to memref<1x32x8x8xf32, strided<[2048, 64, 8, 1], offset: ?>>
      linalg.fill ins(%cst : f32) outs(%subview_1 : memref<1x32x8x8xf32, strided<[2048, 64, 8, 1], offset: ?>>)
      linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%subview, %subview_0 : memref<1x8x10x10xf32, strided<[800, 100, 10, 1], offset: ?>>, memref<32x8x3x3xf32, strided<[72, 9, 3, 1]>>) outs(%subview_1 : memref<1x32x8x8xf32, strided<[2048, 64, 8, 1], offset: ?>>) {
      ^bb0(%in: f32, %in_2: f32, %out: f32):
        %0 = arith.mulf %in, %in_2 : f32
        %1 = arith.addf %out, %0 : f32
        linalg.yield %1 : f32
      }
    } {kiln.kernel = {loops = array<i64: 1, 32, 8, 8>, nodes = [], rule = "convolution", schedule = {lanes = array<i64: 1>, rows = array<i64: 0>, steps = array<i64: 128>, tile = array<i64: 1, 32, 8, 8>, unfold = array<i64: 1>, vectors = array<i64: 0>, winograd = array<i64: 2>}}}
    return
  }
}
