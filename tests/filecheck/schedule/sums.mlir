// Sums in sixteen partials: vectors along the rows with the last elements under a mask; across the rows where those lie side by
// side.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-vectorize))' | FileCheck %s

// CHECK-LABEL: func.func @along_rows
// CHECK: %[[PARTIALS:.*]]:2 = scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-2: vector.load {{.*}} : memref<3x75xf32>, vector<8xf32>
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: vector.maskedload {{.*}} %[[MASK]]
// CHECK: %[[SUM:.*]] = arith.addf %[[PARTIALS]]#1,
// CHECK: arith.select %[[MASK]], %[[SUM]], %[[PARTIALS]]#1
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: arith.addf {{.*}} : vector<1xf32>
// CHECK: memref.store
func.func @along_rows(%x: memref<3x75xf32>, %y: memref<3xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<3x75xf32>) outs(%y : memref<3xf32>) attrs = {kiln.partials} {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK-LABEL: func.func @across_rows
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-16: vector.load {{.*}} : memref<32x8xf32>, vector<8xf32>
// CHECK-COUNT-16: arith.addf {{.*}} : vector<8xf32>
// CHECK: vector.store {{.*}} : memref<8xf32>, vector<8xf32>
func.func @across_rows(%x: memref<32x8xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<32x8xf32>) outs(%y : memref<8xf32>) attrs = {kiln.partials} {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}
