// On a device the buffers of a block share what a block has; what is too much for that moves to the arena, a piece for each block.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-plan-memory{shared-bytes=4096}))' | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: kiln.arena_buffers = 1 : i64
// CHECK-SAME: kiln.arena_bytes = 98304 : i64
// CHECK-SAME: kiln.scratch_bytes = 0 : i64
func.func @main(%x: memref<8x4x2048xf32> {kiln.input = 0 : i64}, %y: memref<8x4x2048xf32> {kiln.output = 0 : i64}) {
  // Three blocks of four: [3][2][2048] numbers of 8 kB.
  // CHECK: memref.alloc() {{.*}}kiln.offset = 0 : i64} : memref<98304xi8>
  // CHECK: scf.forall (%[[I:.*]], %[[J:.*]]) = (2, 0) to (8, 4) step (2, 2)
  scf.forall (%i, %j) = (2, 0) to (8, 4) step (2, 2) {
    %thread = gpu.thread_id x
    // CHECK: %[[FROM:.*]] = affine.apply
    // CHECK: memref.view %{{.*}}[%[[FROM]]][] : memref<?xi8> to memref<4096xf32>
    %large = memref.alloc() {alignment = 64 : i64} : memref<4096xf32>
    // Between two barriers threads are apart: these two never share a place, though one is done before the other begins.
    // CHECK: memref.alloc() {kiln.offset = 0 : i64} : memref<256xf32>
    %a = memref.alloc() : memref<256xf32>
    // CHECK: memref.alloc() {kiln.offset = 1024 : i64} : memref<256xf32>
    %b = memref.alloc() : memref<256xf32>
    // Behind the barrier the first place is free again.
    // CHECK: memref.alloc() {kiln.offset = 0 : i64} : memref<512xf32>
    %c = memref.alloc() : memref<512xf32>
    %number = memref.load %x[%i, %j, %thread] : memref<8x4x2048xf32>
    memref.store %number, %large[%thread] : memref<4096xf32>
    memref.store %number, %a[%thread] : memref<256xf32>
    memref.store %number, %b[%thread] : memref<256xf32>
    gpu.barrier
    memref.store %number, %c[%thread] : memref<512xf32>
    %again = memref.load %large[%thread] : memref<4096xf32>
    memref.store %again, %y[%i, %j, %thread] : memref<8x4x2048xf32>
  // CHECK: kiln.kernel = {rule = "given", shared_bytes = 2048 : i64}
  } {kiln.kernel = {rule = "given"}}
  return
}
