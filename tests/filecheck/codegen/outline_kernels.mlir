// A parallel loop becomes a kernel called through the callback table; its buffers come from the pointers of the run.
// RUN: kiln-opt %s --kiln-outline-kernels | FileCheck %s

// The outputs' dimensions.
// CHECK-LABEL: func.func @kiln_shapes_0
// CHECK-SAME: (%{{.*}}: !llvm.ptr, %[[DIMS:.*]]: !llvm.ptr)
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[DIMS]][0]
// CHECK: %[[ROWS:.*]] = llvm.mlir.constant(3 : i64)
// CHECK: llvm.store %[[ROWS]], %[[FIRST]]
// CHECK: llvm.getelementptr %[[DIMS]][1]
// CHECK: llvm.mlir.constant(4 : i64)
// CHECK: func.func private @kiln_k0_conv_1_relu(%[[ENV:.*]]: !llvm.ptr, %[[TASK:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr)
// CHECK-SAME: moved_bytes = 96 : i64
// CHECK-SAME: tasks = 12 : i64
// The environment: arena, weights, inputs, outputs, symbols.
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[ENV]][0]
// CHECK: %[[ARENA:.*]] = llvm.load %[[SLOT]]
// CHECK: llvm.mlir.constant(128 : i64)
// CHECK: llvm.getelementptr %[[ARENA]][
// Task to indices.
// CHECK: arith.remui
// CHECK: arith.divui
// The task's own buffer lies in the slot's scratch.
// CHECK: llvm.getelementptr %[[SCRATCH]][
// CHECK-LABEL: func.func @kiln_run_0
// CHECK-SAME: (%[[TABLE:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[SYMBOLS:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr) -> i32
// CHECK: constant @kiln_k0_conv_1_relu
// CHECK: %[[CALL:.*]] = llvm.load %[[TABLE]] : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.call %[[CALL]](
// CHECK: call @kiln_shapes_0(%[[SYMBOLS]], %[[OUT]])
func.func @main(%x: memref<3x4xf32> {kiln.input = 0 : i64}, %y: memref<3x4xf32> {kiln.output = 0 : i64}) {
  %a = memref.alloc() {kiln.offset = 128 : i64} : memref<3x4xf32>
  scf.forall (%i, %j) in (3, 4) {
    %s = memref.alloc() {kiln.offset = 64 : i64} : memref<4xf32>
    %0 = memref.load %a[%i, %j] : memref<3x4xf32>
    memref.store %0, %s[%j] : memref<4xf32>
    %1 = memref.load %s[%j] : memref<4xf32>
    memref.store %1, %y[%i, %j] : memref<3x4xf32>
  } {kiln.kernel = {nodes = ["conv/1", "relu"]}}
  return
}
