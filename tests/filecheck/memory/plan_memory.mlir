// Lifetimes become offsets: the first and the third buffer share a place, views count as uses, loops have their own scratch.
// RUN: kiln-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(kiln-plan-memory))' | FileCheck %s

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

// -----

// What an iteration makes for itself is reused within the body and by what follows; what is made before the loop and
// used in it stays until the loop has ended, so nothing made in the body lies on it.
// CHECK-LABEL: func.func @main
// CHECK-SAME: kiln.arena_bytes = 12288 : i64
func.func @main(%x: memref<1024xf32> {kiln.input = 0 : i64}, %y: memref<1024xf32> {kiln.output = 0 : i64}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %ten = arith.constant 10 : index
  // CHECK: memref.alloc() {kiln.offset = [[STATE:.*]] : i64}
  %state = memref.alloc() : memref<1024xf32>
  memref.copy %x, %state : memref<1024xf32> to memref<1024xf32>
  scf.for %i = %zero to %ten step %one {
    // CHECK: memref.alloc() {kiln.offset = [[A:.*]] : i64}
    %a = memref.alloc() : memref<1024xf32>
    // CHECK: memref.alloc() {kiln.offset = [[B:.*]] : i64}
    %b = memref.alloc() : memref<1024xf32>
    // CHECK: memref.alloc() {kiln.offset = [[A]] : i64}
    %c = memref.alloc() : memref<1024xf32>
    memref.copy %state, %a : memref<1024xf32> to memref<1024xf32>
    memref.copy %a, %b : memref<1024xf32> to memref<1024xf32>
    memref.copy %b, %c : memref<1024xf32> to memref<1024xf32>
    memref.copy %c, %state : memref<1024xf32> to memref<1024xf32>
  }
  memref.copy %state, %y : memref<1024xf32> to memref<1024xf32>
  return
}
