// Callers give sizes; a program that counts in multiples divides them where it reads them.
// RUN: kiln-opt %s --kiln-outline-kernels | FileCheck %s

// CHECK-LABEL: func.func @kiln_shapes_0
// CHECK: %[[HEIGHT:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK: %[[MULTIPLE:.*]] = llvm.mlir.constant(32 : i64)
// CHECK: llvm.sdiv %[[HEIGHT]], %[[MULTIPLE]]
// CHECK: %[[ROWS:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK-NOT: llvm.sdiv
// CHECK-LABEL: func.func @kiln_run_0
module attributes {kiln.symbols = [{name = "height", input = "x", dim = 0, min = 1, max = 40, multiple = 32},
                                   {name = "rows", input = "x", dim = 1, min = 1, max = 8}]} {
  func.func @main(%x: memref<?x?xf32> {kiln.input = 0 : i64, kiln.shape = affine_map<()[s0, s1] -> (s0 * 32, s1)>},
                  %y: memref<?x?xf32> {kiln.output = 0 : i64, kiln.shape = affine_map<()[s0, s1] -> (s0 * 32, s1)>},
                  %s0: index {kiln.symbol = 0 : i64}, %s1: index {kiln.symbol = 1 : i64})
      attributes {kiln.profile = array<i64: 1, 2, 40, 1, 2, 8>} {
    memref.copy %x, %y : memref<?x?xf32> to memref<?x?xf32>
    return
  }
}
