// A partition without a memory plan is an error, not one that needs no memory.
// RUN: not kiln-opt %s --kiln-join-partitions 2>&1 | FileCheck %s

// CHECK: error: 'func.func' op @partition_0 lacks kiln.arena_live_bytes
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @partition_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
func.func private @partition_0(tensor<4xf32>) -> tensor<4xf32> attributes {kiln.target = "cpu:x86-64-v3", kiln.arena_bytes = 64 : i64, kiln.arena_total_bytes = 64 : i64, kiln.arena_buffers = 1 : i64}
