// A library call takes a pointer and the extents of every operand, then the parameters.
// RUN: kiln-opt %s --kiln-library-calls | FileCheck %s

// CHECK: llvm.func @kiln_sort_f32(!llvm.ptr, i64, i64, i64, !llvm.ptr, i64, i64, i64, !llvm.ptr, i64, i64)
// CHECK-LABEL: func.func @f
func.func @f(%x: memref<2x3x4xf32>, %v: memref<2x?x4xf32, strided<[12, 4, 1], offset: ?>>, %room: memref<6xi64>) {
  // CHECK-DAG: %[[X:.*]] = builtin.unrealized_conversion_cast %arg0
  // CHECK-DAG: %[[XP:.*]] = llvm.extractvalue %[[X]][1]
  // The offset of a view is added.
  // CHECK-DAG: %[[V:.*]] = builtin.unrealized_conversion_cast %arg1
  // CHECK-DAG: %[[BASE:.*]] = llvm.extractvalue %[[V]][1]
  // CHECK-DAG: %[[OFFSET:.*]] = llvm.extractvalue %[[V]][2]
  // CHECK-DAG: %[[VP:.*]] = llvm.getelementptr %[[BASE]][%[[OFFSET]]]
  // CHECK-DAG: %[[EXTENT:.*]] = llvm.extractvalue %[[V]][3, 1]
  // CHECK: llvm.call @kiln_sort_f32(%[[XP]], %{{.*}}, %{{.*}}, %{{.*}}, %[[VP]], %{{.*}}, %[[EXTENT]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
  kiln.call "kiln_sort_f32"(%x) outs(%v, %room) parameters [1] reads [] : (memref<2x3x4xf32>, memref<2x?x4xf32, strided<[12, 4, 1], offset: ?>>, memref<6xi64>) -> ()
  return
}
