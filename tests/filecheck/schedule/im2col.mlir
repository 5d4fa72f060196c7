// A convolution becomes copies of its window, a row per step of the sum, and the product with them; a window of one position
// needs no copy: its loops are joined.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-vectorize))' | FileCheck %s

// 18 channels of 3 x 3: 162 steps, results of 4 x 8 positions side by side, in rows of whole cache lines.
// CHECK-LABEL: func.func @window
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<5184xf32>
// Every step copies rows of eight.
// CHECK: vector.load %{{.*}} : memref<18x3x4x3x8xf32, strided<[60, 10, 10, 1, 1]>>, vector<8xf32>
// CHECK: vector.store %{{.*}} : memref<18x3x3x4x8xf32, strided<[288, 96, 32, 8, 1]>>, vector<8xf32>
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.load %{{.*}} : memref<162x32xf32, strided<[32, 1]>>, vector<8xf32>
// CHECK: memref.load %{{.*}} : memref<16x162xf32, strided<[162, 1]>>
// CHECK: math.fma
// CHECK-NOT: linalg
func.func @window(%x: memref<1x18x6x10xf32>, %w: memref<16x18x3x3xf32>, %y: memref<1x16x4x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>, affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>,
                                   affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x18x6x10xf32>, memref<16x18x3x3xf32>) outs(%y : memref<1x16x4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func.func @pointwise
// CHECK-NOT: memref.alloc
// CHECK: vector.load %{{.*}} : memref<18x32xf32, strided<[32, 1]>>, vector<8xf32>
// CHECK: math.fma
// CHECK-NOT: linalg
func.func @pointwise(%x: memref<1x18x4x8xf32>, %w: memref<16x18x1x1xf32>, %y: memref<1x16x4x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>, affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>,
                                   affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x18x4x8xf32>, memref<16x18x1x1xf32>) outs(%y : memref<1x16x4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Every second element: two loads that overlap in one, and a choice among them.
// CHECK-LABEL: func.func @strided
// CHECK-COUNT-2: vector.load %{{.*}} : memref<32xf32, strided<[1]>>, vector<8xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 2, 4, 6, 9, 11, 13, 15]
// CHECK-NOT: linalg
func.func @strided(%x: memref<32xf32>, %y: memref<16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (2 * i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<32xf32>) outs(%y : memref<16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// A window of a thousand positions, thousands of them: a copy would be as large as a model.
// CHECK-LABEL: func.func @long_window
// CHECK-NOT: memref.alloc
// CHECK: math.fma
func.func @long_window(%x: memref<4x3071xf32>, %w: memref<16x4x1024xf32>, %y: memref<16x2048xf32>) {
  linalg.generic {indexing_maps = [affine_map<(o, l, c, j) -> (c, l + j)>, affine_map<(o, l, c, j) -> (o, c, j)>, affine_map<(o, l, c, j) -> (o, l)>],
                  iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<4x3071xf32>, memref<16x4x1024xf32>) outs(%y : memref<16x2048xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
