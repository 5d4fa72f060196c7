// What fills a product's results and what works on each of them happens in registers: no result is loaded, each is stored once.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-vectorize))' | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#all = affine_map<(m, n) -> (m, n)>

// CHECK-LABEL: func.func @bias_and_relu
// CHECK-NOT: vector.store
// CHECK: memref.load %{{.*}} : memref<12xf32>
// CHECK-NOT: memref<12x16xf32>, vector<8xf32>
// CHECK: scf.for {{.*}} iter_args
// CHECK: math.fma
// CHECK: arith.maximumf {{.*}} : vector<8xf32>
// CHECK: vector.store %{{.*}} : memref<12x16xf32>, vector<8xf32>
// CHECK-NOT: vector.load
// CHECK: return
func.func @bias_and_relu(%x: memref<12x5xf32>, %w: memref<5x16xf32>, %bias: memref<12xf32>, %y: memref<12x16xf32>) {
  linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]} ins(%bias : memref<12xf32>) outs(%y : memref<12x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<12x5xf32>, memref<5x16xf32>) outs(%y : memref<12x16xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %0 = arith.mulf %u, %v : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]} outs(%y : memref<12x16xf32>) {
  ^bb0(%o: f32):
    %0 = arith.maximumf %o, %zero : f32
    linalg.yield %0 : f32
  }
  return
}

// The results are wanted as they are, too: the operation behind keeps its own loops.
// CHECK-LABEL: func.func @kept
// CHECK: vector.store %{{.*}}, %arg2
// CHECK: vector.load %{{.*}} : memref<96xf32
// CHECK: math.sqrt
// CHECK: vector.store
func.func @kept(%x: memref<6x5xf32>, %w: memref<5x16xf32>, %y: memref<6x16xf32>, %z: memref<6x16xf32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<6x5xf32>, memref<5x16xf32>) outs(%y : memref<6x16xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %0 = arith.mulf %u, %v : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%y : memref<6x16xf32>) outs(%z : memref<6x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = math.sqrt %v : f32
    linalg.yield %0 : f32
  }
  return
}
