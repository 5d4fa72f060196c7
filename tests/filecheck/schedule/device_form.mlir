// What devices cannot run is refused by name.
// RUN: kiln-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(kiln-map-to-gpu))'

func.func @everyThread(%out: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (4) step (1) {
    scf.for %k = %i to %i step %i {
      // expected-error @+1 {{every thread of a block has the effect of 'memref.store'}}
      memref.store %zero, %out[%i] : memref<4xf32>
    }
  }
  return
}

// -----

func.func @divergentBarrier(%out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) = (0) to (4) step (1) {
    %thread = gpu.thread_id x
    %first = arith.cmpi eq, %thread, %c0 : index
    scf.if %first {
      // expected-error @+1 {{a barrier that not all threads of a block reach alike}}
      gpu.barrier
    }
  }
  return
}

// -----

func.func @hostLoop(%n: index, %out: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'scf.for' has no form for devices}}
  scf.for %k = %c0 to %n step %c1 {
    memref.store %zero, %out[%k] : memref<4xf32>
  }
  return
}

// -----

func.func @localBuffer(%out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) = (0) to (4) step (1) {
    scf.for %k = %c0 to %i step %c1 {
      // expected-error @+1 {{a buffer of a block is made inside a loop or branch}}
      %local = memref.alloc() : memref<4xf32>
    }
  }
  return
}

// -----

func.func @nestedOperation(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) = (0) to (4) step (1) {
    scf.for %k = %c0 to %i step %c1 {
      %from = memref.subview %x[%k, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
      %to = memref.subview %y[%k, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
      // expected-error @+1 {{'linalg.generic' has no form for the threads of a device}}
      linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%from : memref<8xf32, strided<[1], offset: ?>>) outs(%to : memref<8xf32, strided<[1], offset: ?>>) {
      ^bb0(%a: f32, %z: f32):
        linalg.yield %a : f32
      }
    }
  }
  return
}

// -----

// Whether a thread goes round once more is nothing that the check follows.
func.func @whileLoop(%x: memref<4xi1>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) = (0) to (4) step (1) {
    // expected-error @+1 {{'scf.while' has no form for the threads of a device}}
    scf.while : () -> () {
      %more = memref.load %x[%c0] : memref<4xi1>
      scf.condition(%more)
    } do {
      scf.yield
    }
  }
  return
}
