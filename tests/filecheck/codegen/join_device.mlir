// A device has an arena of its own: what it reads and makes is copied through the callback table, and the processor waits
// before it reads what was copied to it. What a copy to the device reads keeps its place until such a wait.
// RUN: kiln-opt %s --split-input-file --kiln-join-partitions | FileCheck %s

// All on the device: no wait.
// CHECK-LABEL: func.func @kiln_run_0
// CHECK-SAME: (%[[TABLE:[^:]*]]: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %[[INPUTS:[^:]*]]: !llvm.ptr, %[[OUTPUTS:[^:]*]]: !llvm.ptr
// CHECK-SAME: kiln.arena_bytes = 0 : i64
// CHECK-SAME: kiln.device_arena_bytes = array<i64: 4224>
// CHECK-SAME: space = 1 : i64
// copy(user, 1, in the device's arena, 0, input, 16)
// CHECK: %[[ARENAS:.*]] = llvm.getelementptr %[[TABLE]][5]
// CHECK: %[[LIST:.*]] = llvm.load %[[ARENAS]]
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[LIST]][1]
// CHECK: llvm.load %[[SLOT]]
// CHECK: llvm.getelementptr %[[INPUTS]][0]
// CHECK: llvm.getelementptr %[[TABLE]][3]
// CHECK: %[[TO:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: %[[FROM:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: %[[IN:.*]] = llvm.call %{{.*}}(%{{.*}}, %[[TO]], %{{.*}}, %[[FROM]], %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr, i32, !llvm.ptr, i64) -> i32
// CHECK: cf.cond_br %{{.*}}, ^[[STOP:bb[0-9]+]](%[[IN]] : i32)
// CHECK: call @kiln_run_0_0(
// The result goes to the caller, and its dimensions with it.
// CHECK: llvm.load %{{.*}} -> i64
// CHECK: llvm.getelementptr %[[OUTPUTS]][0]
// CHECK: llvm.getelementptr %[[TABLE]][3]
// CHECK-NOT: llvm.getelementptr %[[TABLE]][4]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %t = kiln.transfer %x from "host" to "cuda:sm_90a" : tensor<4xf32>
  %a = call @partition_0(%t) : (tensor<4xf32>) -> tensor<4xf32>
  %r = kiln.transfer %a from "cuda:sm_90a" to "host" : tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func private @partition_0(tensor<4xf32>) -> tensor<4xf32> attributes {kiln.target = "cuda:sm_90a", kiln.arena_bytes = 4096 : i64, kiln.arena_live_bytes = 0 : i64, kiln.arena_total_bytes = 0 : i64, kiln.arena_buffers = 0 : i64}

// -----

// The first copy to the device reads what @partition_0 made; nothing else has that place before the wait, which comes with
// the first call that reads what the device sends.
// CHECK-LABEL: func.func @kiln_run_0
// CHECK-SAME: kiln.arena_bytes = 192 : i64
// CHECK: call @kiln_run_0_0(
// CHECK: call @kiln_run_0_1(
// CHECK: call @kiln_run_0_2(
// CHECK: llvm.getelementptr %{{.*}}[4]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i32) -> i32
// CHECK: call @kiln_run_0_3(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @partition_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %t = kiln.transfer %a from "cpu:x86-64-v3" to "cuda:sm_90a" : tensor<4xf32>
  %b = call @partition_1(%t) : (tensor<4xf32>) -> tensor<4xf32>
  %u = kiln.transfer %b from "cuda:sm_90a" to "cpu:x86-64-v3" : tensor<4xf32>
  %c = call @partition_2(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %d = call @partition_3(%u, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}
func.func private @partition_0(tensor<4xf32>) -> tensor<4xf32> attributes {kiln.target = "cpu:x86-64-v3", kiln.arena_bytes = 0 : i64, kiln.arena_live_bytes = 0 : i64, kiln.arena_total_bytes = 0 : i64, kiln.arena_buffers = 0 : i64}
func.func private @partition_1(tensor<4xf32>) -> tensor<4xf32> attributes {kiln.target = "cuda:sm_90a", kiln.arena_bytes = 0 : i64, kiln.arena_live_bytes = 0 : i64, kiln.arena_total_bytes = 0 : i64, kiln.arena_buffers = 0 : i64}
func.func private @partition_2(tensor<4xf32>) -> tensor<4xf32> attributes {kiln.target = "cpu:x86-64-v3", kiln.arena_bytes = 0 : i64, kiln.arena_live_bytes = 0 : i64, kiln.arena_total_bytes = 0 : i64, kiln.arena_buffers = 0 : i64}
func.func private @partition_3(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {kiln.target = "cpu:x86-64-v3", kiln.arena_bytes = 0 : i64, kiln.arena_live_bytes = 0 : i64, kiln.arena_total_bytes = 0 : i64, kiln.arena_buffers = 0 : i64}
