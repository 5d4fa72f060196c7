// A number of lanes that only a run knows: blocks of whole registers, then registers under a mask.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-vectorize{masks=true}))' | FileCheck %s

// CHECK-LABEL: func.func @elementwise
// CHECK: scf.for
// CHECK: vector.load {{.*}} vector<8xf32>
// CHECK: vector.store
// CHECK: scf.for
// CHECK: %[[MASK:.*]] = vector.create_mask {{.*}} : vector<8xi1>
// CHECK: vector.maskedload {{.*}} %[[MASK]]
// CHECK: math.exp {{.*}} : vector<8xf32>
// CHECK: vector.maskedstore {{.*}} %[[MASK]]
// CHECK-NOT: scf.for
// CHECK: return
func.func @elementwise(%x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  return
}

// The largest of a row.
// CHECK-LABEL: func.func @largest
// CHECK: %[[BEST:.*]]:2 = scf.for {{.*}} -> (vector<8xf32>, vector<8xi32>)
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: %[[LAST:.*]] = vector.maskedload {{.*}}, %[[MASK]], %[[BEST]]#0
// CHECK: arith.cmpf ogt, %[[LAST]], %[[BEST]]#0
// CHECK: vector.reduction <maximumf>
func.func @largest(%x: memref<3x?xf32>, %y: memref<3xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<3x?xf32>) outs(%y : memref<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.maximumf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}
