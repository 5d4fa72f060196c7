// A reduction starts from what its result was filled with; the fill goes.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-map-to-gpu))' | FileCheck %s

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func @started
func.func @started(%x: memref<1000x33xf32>, %y: memref<1000xf32>) {
  %lowest = arith.constant 0xFF800000 : f32
  // CHECK: scf.forall
  // CHECK-NOT: memref.load {{.*}} : memref<1000xf32>
  // CHECK: %[[START:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[START]])
  // CHECK: memref.store
  // CHECK-NOT: memref.store
  linalg.fill ins(%lowest : f32) outs(%y : memref<1000xf32>)
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<1000x33xf32>) outs(%y : memref<1000xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.maximumf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// What comes between changes or wants what was filled in.
// CHECK-LABEL: func.func @between
func.func @between(%x: memref<1000x33xf32>, %y: memref<1000xf32>, %z: memref<1000xf32>) {
  %zero = arith.constant 0.0 : f32
  // CHECK: scf.forall
  // CHECK: memref.store %{{.*}} : memref<1000xf32>
  // CHECK: scf.forall
  // CHECK: scf.forall
  // CHECK: memref.load {{.*}} : memref<1000xf32>
  // CHECK: scf.for
  linalg.fill ins(%zero : f32) outs(%y : memref<1000xf32>)
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%y : memref<1000xf32>) outs(%z : memref<1000xf32>) {
  ^bb0(%a: f32, %s: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<1000x33xf32>) outs(%y : memref<1000xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}
