// What the calling thread does itself finds its buffers also when the parallel loop, which goes, came first.
// RUN: kiln-opt %s --kiln-outline-kernels | FileCheck %s

// CHECK-LABEL: func.func @kiln_run_0
// CHECK-SAME: %[[INPUTS:[^,]*]]: !llvm.ptr, %[[OUTPUTS:[^,]*]]: !llvm.ptr, %{{[^,]*}}: !llvm.ptr, %{{[^,]*}}: !llvm.ptr) -> i32
// CHECK: llvm.getelementptr %[[INPUTS]][0]
// CHECK: llvm.getelementptr %[[OUTPUTS]][0]
// CHECK: constant @kiln_k0
// CHECK: %[[VALUE:.*]] = memref.load
// CHECK: memref.store %[[VALUE]]
func.func @main(%x: memref<3xf32> {kiln.input = 0 : i64}, %y: memref<3xf32> {kiln.output = 0 : i64}) {
  scf.forall (%i) in (3) {
    %0 = memref.load %x[%i] : memref<3xf32>
    memref.store %0, %y[%i] : memref<3xf32>
  }
  %c0 = arith.constant 0 : index
  %1 = memref.load %x[%c0] : memref<3xf32>
  memref.store %1, %y[%c0] : memref<3xf32>
  return
}
