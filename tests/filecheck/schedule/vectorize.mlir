// A matrix product becomes blocks of 6 x 16 results in registers, with smaller blocks for what is left over; what has no
// vector form becomes plain loops.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-vectorize))' | FileCheck %s

// CHECK-LABEL: func.func @product
func.func @product(%a: memref<13x5xf32>, %b: memref<5x20xf32>, %c: memref<13x20xf32>) {
  // Sixteen lanes: two registers. Rows in even blocks: 5, 5, 3.
  // CHECK: scf.for %{{.*}} to %{{.*}} step %{{.*}} {
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
  // CHECK: vector.load %{{.*}} : memref<5x20xf32>, vector<8xf32>
  // CHECK: vector.broadcast
  // CHECK: math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<8xf32>
  // CHECK: vector.store
  // The last four lanes, rows again in even blocks.
  // CHECK: math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<4xf32>
  // CHECK-NOT: linalg
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<13x5xf32>, memref<5x20xf32>) outs(%c : memref<13x20xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%a: memref<3x11xf32>, %b: memref<3xf32>, %c: memref<3x11xf32>) {
  // CHECK: memref.load {{.*}} : memref<3xf32>
  // CHECK: vector.load {{.*}} vector<8xf32>
  // CHECK: vector.broadcast {{.*}} : f32 to vector<8xf32>
  // CHECK: arith.subf {{.*}} : vector<8xf32>
  // CHECK: math.exp {{.*}} : vector<8xf32>
  // CHECK: vector.store
  // CHECK: math.exp {{.*}} : vector<3xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : memref<3x11xf32>, memref<3xf32>) outs(%c : memref<3x11xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.subf %x, %y : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func.func @gather
func.func @gather(%table: memref<7xf32>, %at: memref<5xi64>, %out: memref<5xf32>) {
  // CHECK: scf.for
  // CHECK: memref.load %{{.*}}[%{{.*}}] : memref<7xf32>
  // CHECK-NOT: vector
  // CHECK: memref.store
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%at : memref<5xi64>) outs(%out : memref<5xf32>) {
  ^bb0(%x: i64, %z: f32):
    %0 = arith.index_cast %x : i64 to index
    %1 = memref.load %table[%0] : memref<7xf32>
    linalg.yield %1 : f32
  }
  return
}

// Sums of rows: the lanes are rows, and what lies side by side are the steps of the sum. Squares of eight by eight are
// loaded as vectors and transposed in registers; the three steps that are left are loaded one by one.
// CHECK-LABEL: func.func @rows
func.func @rows(%a: memref<8x19xf32>, %c: memref<8xf32>) {
  // CHECK: %[[SUM:.*]] = scf.for %{{.*}} step %{{.*}} iter_args({{.*}}) -> (vector<8xf32>)
  // CHECK-COUNT-8: vector.load {{.*}} : memref<8x19xf32>, vector<8xf32>
  // CHECK-COUNT-24: vector.shuffle
  // CHECK-NOT: memref.load
  // CHECK-COUNT-8: arith.addf {{.*}} : vector<8xf32>
  // CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %[[SUM]])
  // CHECK: vector.from_elements
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<8x19xf32>) outs(%c : memref<8xf32>) {
  ^bb0(%x: f32, %z: f32):
    %0 = arith.addf %z, %x : f32
    linalg.yield %0 : f32
  }
  return
}
