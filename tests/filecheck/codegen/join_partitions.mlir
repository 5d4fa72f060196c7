// RUN: kiln-opt %s --kiln-join-partitions | FileCheck %s

// Each target has a region of the arena. In v4's: the arena of partition 0 and what it hands on, alive at the
// same time (64 + 16, the second aligned); in v3's, behind it: the copy and the arena of partition 1.
// CHECK-LABEL: func.func @kiln_shapes_0
// CHECK-LABEL: func.func @kiln_run_0
// CHECK-SAME: (%[[CALLBACKS:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[WEIGHTS:.*]]: !llvm.ptr, %[[INPUTS:.*]]: !llvm.ptr, %[[OUTPUTS:.*]]: !llvm.ptr, %[[SYMBOLS:.*]]: !llvm.ptr, %[[DIMS:.*]]: !llvm.ptr) -> i32
// CHECK-SAME: kiln.arena_bytes = 448 : i64
// CHECK-SAME: {buffers = 2 : i64, bytes = 128 : i64, live_bytes = 128 : i64, offset = 0 : i64, target = "cpu:x86-64-v4", total_bytes = 128 : i64}
// CHECK-SAME: {buffers = 3 : i64, bytes = 320 : i64, live_bytes = 128 : i64, offset = 128 : i64, target = "cpu:x86-64-v3", total_bytes = 512 : i64}
// CHECK: %[[FIRST:.*]] = call @kiln_run_0_0(%[[CALLBACKS]],
// CHECK: cf.cond_br %{{.*}}, ^[[STOP:.*]](%[[FIRST]] : i32), ^[[NEXT:.*]]
// CHECK: ^[[NEXT]]:
// CHECK: "llvm.intr.memcpy"
// CHECK: %[[SECOND:.*]] = call @kiln_run_0_1(%[[CALLBACKS]],
// CHECK: cf.cond_br
// CHECK: func.func private @kiln_run_0_0(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK: func.func private @kiln_run_0_1
// CHECK-NOT: @main
// CHECK-NOT: @partition_
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @partition_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = kiln.transfer %0 from "cpu:x86-64-v4" to "cpu:x86-64-v3" : tensor<4xf32>
  %2 = call @partition_1(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @partition_0(tensor<4xf32>) -> tensor<4xf32> attributes {kiln.target = "cpu:x86-64-v4", kiln.arena_bytes = 64 : i64, kiln.arena_live_bytes = 64 : i64, kiln.arena_total_bytes = 64 : i64, kiln.arena_buffers = 1 : i64}
func.func private @partition_1(tensor<4xf32>) -> tensor<4xf32> attributes {kiln.target = "cpu:x86-64-v3", kiln.arena_bytes = 256 : i64, kiln.arena_live_bytes = 64 : i64, kiln.arena_total_bytes = 448 : i64, kiln.arena_buffers = 2 : i64}
