// Functions of the kernel library that have a form for threads: a thread per line, or per result.
// RUN: kiln-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(kiln-map-to-gpu))' | FileCheck %s

// CHECK-LABEL: func.func @sums
func.func @sums(%x: memref<4x9x64xf32>, %y: memref<4x9x64xf32>) {
  // CHECK: scf.forall (%{{.*}}) = (0) to (256) step (128)
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f64)
  // Backwards, the sum before the element.
  // CHECK: arith.subi
  // CHECK: arith.extf
  // CHECK: arith.addf {{.*}} : f64
  // CHECK: arith.truncf
  // CHECK: memref.store
  kiln.call "kiln_cumsum_f32"(%x) outs(%y) parameters [1, 1] reads [] : (memref<4x9x64xf32>, memref<4x9x64xf32>) -> ()
  return
}

// -----

// CHECK-LABEL: func.func @largest
func.func @largest(%x: memref<1x9x64xi8>, %y: memref<1x64xi64>) {
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (index, i8)
  // CHECK: arith.cmpi uge
  // CHECK: memref.store %{{.*}} : memref<1x64xi64>
  kiln.call "kiln_argmax_ui8"(%x) outs(%y) parameters [1] reads [] : (memref<1x9x64xi8>, memref<1x64xi64>) -> ()
  return
}

// -----

// CHECK-LABEL: func.func @rows
func.func @rows(%at: memref<7xi64>, %updates: memref<7x16xf32>, %data: memref<100x16xf32>) {
  // 16 columns of 512 owners of rows.
  // CHECK: scf.forall (%{{.*}}) = (0) to (8192)
  // CHECK: arith.cmpi ult
  // CHECK: arith.andi
  // CHECK: scf.if
  // CHECK: arith.addf
  // CHECK: memref.store
  kiln.call "kiln_scatter_add_f32"(%at, %updates) outs(%data) parameters [] reads [0] : (memref<7xi64>, memref<7x16xf32>, memref<100x16xf32>) -> ()
  return
}

// -----

func.func @sort(%x: memref<4x9x64xf32>, %y: memref<4x9x64xf32>, %at: memref<4x9x64xi64>, %scratch: memref<18xi64>) {
  // expected-error @+1 {{'kiln_sort_f32' has no form for devices}}
  kiln.call "kiln_sort_f32"(%x) outs(%y, %at, %scratch) parameters [0] reads [] : (memref<4x9x64xf32>, memref<4x9x64xf32>, memref<4x9x64xi64>, memref<18xi64>) -> ()
  return
}
