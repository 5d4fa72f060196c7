// A large result of the program is written by non-temporal stores, in aligned registers; whatever reads results after the task sees it.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-vectorize))' | FileCheck %s

#row = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func.func @large
// CHECK: scf.forall
// CHECK: vector.store {{.*}} {alignment = 32 : i64, nontemporal = true}
// CHECK: llvm.fence seq_cst
// CHECK-NEXT: }
func.func @large(%x: memref<4096x1024xf32>, %y: memref<4096x1024xf32> {kiln.output = 0 : i64}) {
  scf.forall (%i) = (0) to (4096) step (16) {
    %from = memref.subview %x[%i, 0] [16, 1024] [1, 1] : memref<4096x1024xf32> to memref<16x1024xf32, strided<[1024, 1], offset: ?>>
    %to = memref.subview %y[%i, 0] [16, 1024] [1, 1] : memref<4096x1024xf32> to memref<16x1024xf32, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
        ins(%from : memref<16x1024xf32, strided<[1024, 1], offset: ?>>) outs(%to : memref<16x1024xf32, strided<[1024, 1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// Rows that are no whole registers, a result that is no output, and arithmetic that takes longer than the way to memory.
// CHECK-LABEL: func.func @uneven
// CHECK-NOT: nontemporal
func.func @uneven(%x: memref<4096x1020xf32>, %y: memref<4096x1020xf32> {kiln.output = 0 : i64}) {
  scf.forall (%i) = (0) to (4096) step (16) {
    %from = memref.subview %x[%i, 0] [16, 1020] [1, 1] : memref<4096x1020xf32> to memref<16x1020xf32, strided<[1020, 1], offset: ?>>
    %to = memref.subview %y[%i, 0] [16, 1020] [1, 1] : memref<4096x1020xf32> to memref<16x1020xf32, strided<[1020, 1], offset: ?>>
    linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
        ins(%from : memref<16x1020xf32, strided<[1020, 1], offset: ?>>) outs(%to : memref<16x1020xf32, strided<[1020, 1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}
// CHECK-LABEL: func.func @inner
// CHECK-NOT: nontemporal
func.func @inner(%x: memref<4096x1024xf32>, %y: memref<4096x1024xf32>) {
  scf.forall (%i) = (0) to (4096) step (16) {
    %from = memref.subview %x[%i, 0] [16, 1024] [1, 1] : memref<4096x1024xf32> to memref<16x1024xf32, strided<[1024, 1], offset: ?>>
    %to = memref.subview %y[%i, 0] [16, 1024] [1, 1] : memref<4096x1024xf32> to memref<16x1024xf32, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
        ins(%from : memref<16x1024xf32, strided<[1024, 1], offset: ?>>) outs(%to : memref<16x1024xf32, strided<[1024, 1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}
// CHECK-LABEL: func.func @slow
// CHECK-NOT: nontemporal
func.func @slow(%x: memref<4096x1024xf32>, %y: memref<4096x1024xf32> {kiln.output = 0 : i64}) {
  scf.forall (%i) = (0) to (4096) step (16) {
    %from = memref.subview %x[%i, 0] [16, 1024] [1, 1] : memref<4096x1024xf32> to memref<16x1024xf32, strided<[1024, 1], offset: ?>>
    %to = memref.subview %y[%i, 0] [16, 1024] [1, 1] : memref<4096x1024xf32> to memref<16x1024xf32, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
        ins(%from : memref<16x1024xf32, strided<[1024, 1], offset: ?>>) outs(%to : memref<16x1024xf32, strided<[1024, 1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}
// What the task itself reads again stays at hand.
// CHECK-LABEL: func.func @read_again
// CHECK-NOT: nontemporal
func.func @read_again(%x: memref<4096x1024xf32>, %y: memref<4096x1024xf32> {kiln.output = 0 : i64}, %z: memref<4096x1024xf32>) {
  scf.forall (%i) = (0) to (4096) step (16) {
    %from = memref.subview %x[%i, 0] [16, 1024] [1, 1] : memref<4096x1024xf32> to memref<16x1024xf32, strided<[1024, 1], offset: ?>>
    %to = memref.subview %y[%i, 0] [16, 1024] [1, 1] : memref<4096x1024xf32> to memref<16x1024xf32, strided<[1024, 1], offset: ?>>
    %on = memref.subview %z[%i, 0] [16, 1024] [1, 1] : memref<4096x1024xf32> to memref<16x1024xf32, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
        ins(%from : memref<16x1024xf32, strided<[1024, 1], offset: ?>>) outs(%to : memref<16x1024xf32, strided<[1024, 1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
        ins(%to : memref<16x1024xf32, strided<[1024, 1], offset: ?>>) outs(%on : memref<16x1024xf32, strided<[1024, 1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.mulf %a, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}
