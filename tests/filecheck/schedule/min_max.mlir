// The largest of a row: vectors along the row, four at a time, and a last one that ends with the row; sums keep their order.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-vectorize))' | FileCheck %s

// CHECK-LABEL: func.func @largest
// CHECK: %[[ROWS:.*]] = arith.constant 3 : index
// CHECK: scf.for
// CHECK-COUNT-4: vector.load {{.*}} : memref<3x75xf32>, vector<8xf32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xi32>)
// CHECK-COUNT-4: arith.cmpf ogt, {{.*}} : vector<8xf32>
// CHECK: arith.constant 64 : index
// CHECK: arith.constant 67 : index
// CHECK: arith.cmpf ogt, {{.*}} : vector<4xf32>
// CHECK: arith.cmpf ogt, {{.*}} : vector<2xf32>
// CHECK: arith.cmpf ogt, {{.*}} : vector<1xf32>
// CHECK: vector.reduction <maxui>
// A NaN or a zero: once more, with what they ask for.
// CHECK: scf.if
// CHECK-COUNT-4: arith.maximumf {{.*}} : vector<8xf32>
// CHECK: memref.store {{.*}} : memref<3xf32>
func.func @largest(%x: memref<3x75xf32>, %y: memref<3xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<3x75xf32>) outs(%y : memref<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.maximumf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK-LABEL: func.func @sum
// CHECK-NOT: vector.reduction
// CHECK: return
func.func @sum(%x: memref<3x75xf32>, %y: memref<3xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<3x75xf32>) outs(%y : memref<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// A row times a matrix: eight registers side by side, and each load prefetched.
// CHECK-LABEL: func.func @row_times_matrix
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-8: memref.prefetch
// CHECK: math.fma
func.func @row_times_matrix(%x: memref<32xf32>, %w: memref<32x512xf32>, %y: memref<512xf32>) {
  linalg.generic {indexing_maps = [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (k, n)>, affine_map<(n, k) -> (n)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : memref<32xf32>, memref<32x512xf32>) outs(%y : memref<512xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %0 = arith.mulf %u, %v : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
