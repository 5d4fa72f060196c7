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
