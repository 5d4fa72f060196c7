// Rows of a kilobyte and more are read by one instruction that goes through them: their loops stay loops.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-vectorize))' | FileCheck %s

// CHECK: #loop_annotation = #llvm.loop_annotation<unroll = #loop_unroll>

#row = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func @sum
// CHECK: scf.for {{.*}} iter_args
// CHECK: llvm.loop_annotation = #loop_annotation
func.func @sum(%x: memref<3x256xf32>, %y: memref<3xf32>) {
  linalg.generic {indexing_maps = [#row, #one], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<3x256xf32>) outs(%y : memref<3xf32>) attrs = {kiln.partials} {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK-LABEL: func.func @largest
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xi32>)
// CHECK: llvm.loop_annotation = #loop_annotation
func.func @largest(%x: memref<3x256xf32>, %y: memref<3xf32>) {
  linalg.generic {indexing_maps = [#row, #one], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<3x256xf32>) outs(%y : memref<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.maximumf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK-LABEL: func.func @short
// CHECK-NOT: llvm.loop_annotation
// CHECK: return
func.func @short(%x: memref<3x128xf32>, %y: memref<3xf32>) {
  linalg.generic {indexing_maps = [#row, #one], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<3x128xf32>) outs(%y : memref<3xf32>) attrs = {kiln.partials} {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}
