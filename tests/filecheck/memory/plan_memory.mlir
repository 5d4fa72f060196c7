// Lifetimes become offsets: the first and the third buffer share a place, views count as uses, loops have their own scratch.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-plan-memory))' | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: kiln.arena_buffers = 3 : i64
// CHECK-SAME: kiln.arena_bytes = 8192 : i64
// CHECK-SAME: kiln.arena_live_bytes = 8192 : i64
// CHECK-SAME: kiln.arena_total_bytes = 12288 : i64
// CHECK-SAME: kiln.scratch_bytes = 128 : i64
func.func @main(%x: memref<1024xf32> {kiln.input = 0 : i64}, %y: memref<1024xf32> {kiln.output = 0 : i64}) {
  // CHECK: memref.alloc() {kiln.offset = [[FIRST:.*]] : i64} : memref<1024xf32>
  %a = memref.alloc() : memref<1024xf32>
  // CHECK: memref.alloc() {kiln.offset = [[SECOND:.*]] : i64} : memref<32x32xf32>
  %b = memref.alloc() : memref<32x32xf32>
  // CHECK: memref.alloc() {kiln.offset = [[FIRST]] : i64} : memref<1024xf32>
  %c = memref.alloc() : memref<1024xf32>
  memref.copy %x, %a : memref<1024xf32> to memref<1024xf32>
  %flat = memref.collapse_shape %b [[0, 1]] : memref<32x32xf32> into memref<1024xf32>
  memref.copy %a, %flat : memref<1024xf32> to memref<1024xf32>
  memref.copy %flat, %c : memref<1024xf32> to memref<1024xf32>
  scf.forall (%i) in (4) {
    // CHECK: memref.alloc() {kiln.offset = 0 : i64} : memref<17xf32>
    %s = memref.alloc() : memref<17xf32>
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %s[%i] : memref<17xf32>
  }
  memref.copy %c, %y : memref<1024xf32> to memref<1024xf32>
  return
}
