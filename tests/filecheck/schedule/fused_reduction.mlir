// Elementwise operations right before a sum of what they make: one pass makes, stores where that is read elsewhere, and adds.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-vectorize))' | FileCheck %s

#row = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> (i)>

// Of a variance: the differences are kept, the squares are not. The mean is read once per row.
// CHECK-LABEL: func.func @squares
// CHECK: scf.for
// CHECK: %[[MEAN:.*]] = memref.load %arg1
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>)
// CHECK: vector.load %arg0
// CHECK: vector.broadcast %[[MEAN]]
// CHECK: %[[DIFFERENCE:.*]] = arith.subf
// CHECK: vector.store %[[DIFFERENCE]], %arg2
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[DIFFERENCE]], %[[DIFFERENCE]]
// CHECK-NOT: vector.store
// CHECK: arith.addf {{.*}}, %[[SQUARE]]
// The last elements, under a mask.
// CHECK: vector.maskedstore %arg2
func.func @squares(%x: memref<3x75xf32>, %mean: memref<3xf32>, %d: memref<3x75xf32>, %y: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  %squares = memref.alloc() : memref<3x75xf32>
  linalg.generic {indexing_maps = [#row, #one, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mean : memref<3x75xf32>, memref<3xf32>) outs(%d : memref<3x75xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %0 = arith.subf %a, %m : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%d : memref<3x75xf32>) outs(%squares : memref<3x75xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  }
  linalg.fill ins(%zero : f32) outs(%y : memref<3xf32>)
  linalg.generic {indexing_maps = [#row, #one], iterator_types = ["parallel", "reduction"]}
      ins(%squares : memref<3x75xf32>) outs(%y : memref<3xf32>) attrs = {kiln.partials} {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// What reads a row's result cannot run before the row is done.
// CHECK-LABEL: func.func @reads_other_places
// CHECK: vector.store {{.*}}, %arg1
// CHECK: scf.for {{.*}} iter_args
// CHECK-NOT: vector.store {{.*}}, %arg1
// CHECK: return
func.func @reads_other_places(%x: memref<3x75xf32>, %d: memref<3x75xf32>, %y: memref<3xf32>) {
  %first = memref.subview %d[0, 0] [3, 1] [1, 1] : memref<3x75xf32> to memref<3xf32, strided<[75]>>
  linalg.generic {indexing_maps = [#row, #one, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x, %first : memref<3x75xf32>, memref<3xf32, strided<[75]>>) outs(%d : memref<3x75xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %0 = arith.subf %a, %m : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#row, #one], iterator_types = ["parallel", "reduction"]}
      ins(%d : memref<3x75xf32>) outs(%y : memref<3xf32>) attrs = {kiln.partials} {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}
