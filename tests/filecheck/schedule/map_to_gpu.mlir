// Each operation on buffers becomes a phase of a block's threads; what stands beside the loops becomes kernels.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-map-to-gpu))' | FileCheck %s

// CHECK-LABEL: func.func @phases
func.func @phases(%x: memref<64x96xf32>, %out: memref<64x96xf32>) {
  // CHECK: scf.forall (%{{.*}}) = (0) to (64) step (2)
  // CHECK: %[[THREAD:.*]] = gpu.thread_id x upper_bound 64
  // CHECK: memref.alloc() {{.*}} : memref<2xf32>
  scf.forall (%i) = (0) to (64) step (2) {
    %zero = arith.constant 0.0 : f32
    %rows = memref.subview %x[%i, 0] [2, 96] [1, 1] : memref<64x96xf32> to memref<2x96xf32, strided<[96, 1], offset: ?>>
    %to = memref.subview %out[%i, 0] [2, 96] [1, 1] : memref<64x96xf32> to memref<2x96xf32, strided<[96, 1], offset: ?>>
    %sums = memref.alloc() {alignment = 64 : i64} : memref<2xf32>
    linalg.fill ins(%zero : f32) outs(%sums : memref<2xf32>)
    // Two results: the first two threads, in the order of the model, multiplied and added in one.
    // CHECK: arith.cmpi ult
    // CHECK: scf.if
    // CHECK: scf.for {{.*}} iter_args
    // CHECK: math.fma
    // CHECK: memref.store
    // CHECK: gpu.barrier
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                    iterator_types = ["parallel", "reduction"]}
        ins(%rows : memref<2x96xf32, strided<[96, 1], offset: ?>>) outs(%sums : memref<2xf32>) {
    ^bb0(%a: f32, %s: f32):
      %0 = arith.mulf %a, %a : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    }
    // 192 results, two side by side: 64 threads, then 32.
    // CHECK: vector.load {{.*}} {alignment = 8 : i64}
    // CHECK: arith.divf
    // CHECK: vector.store {{.*}} {alignment = 8 : i64}
    // CHECK: scf.if
    // CHECK-NOT: gpu.barrier
    // CHECK-NOT: linalg
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%rows, %sums : memref<2x96xf32, strided<[96, 1], offset: ?>>, memref<2xf32>)
        outs(%to : memref<2x96xf32, strided<[96, 1], offset: ?>>) {
    ^bb0(%a: f32, %s: f32, %z: f32):
      %0 = arith.divf %a, %s : f32
      linalg.yield %0 : f32
    }
  } {kiln.kernel = {schedule = {threads = array<i64: 64>}}}
  // CHECK: kiln.kernel = {schedule = {threads = array<i64: 64>}}
  return
}

// CHECK-LABEL: func.func @beside
func.func @beside(%x: memref<1000x33xf32>, %all: memref<f32>, %shape: memref<2xi64>, %y: memref<33x1000xf32>, %end: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 1000 : i64
  %c0 = arith.constant 0 : index
  // What is small goes together, on one block.
  // CHECK: scf.forall (%{{.*}}) in (1)
  // CHECK: scf.if
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: arith.addf
  // CHECK: memref.store %{{.*}} : memref<f32>
  // CHECK: gpu.barrier
  // CHECK: arith.cmpi eq
  // CHECK: memref.store %{{.*}} : memref<2xi64>
  // CHECK: rule = "device single"
  linalg.fill ins(%zero : f32) outs(%all : memref<f32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
                  iterator_types = ["reduction", "reduction"]}
      ins(%x : memref<1000x33xf32>) outs(%all : memref<f32>) {
  ^bb0(%a: f32, %s: f32):
    %1 = arith.addf %s, %a : f32
    linalg.yield %1 : f32
  }
  memref.store %n, %shape[%c0] : memref<2xi64>
  // A copy is a kernel of its own, whose blocks take the results in order.
  // CHECK: scf.forall (%[[FROM:.*]]) = (0) to (33000) step ([[STEP:.*]]) {
  // CHECK: gpu.thread_id x
  // CHECK: arith.index_cast %[[FROM]] : index to i32
  // CHECK: arith.addi
  // The last block has less to do.
  // CHECK: arith.cmpi ult
  // CHECK: scf.if
  // CHECK: arith.remui
  // CHECK: arith.divui
  // CHECK: memref.load
  // CHECK: memref.store
  // CHECK-NOT: linalg
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<1000x33xf32>) outs(%y : memref<33x1000xf32>) {
  ^bb0(%a: f32, %z: f32):
    linalg.yield %a : f32
  }
  // CHECK: scf.forall (%{{.*}}) in (1)
  linalg.fill ins(%zero : f32) outs(%end : memref<f32>)
  return
}

// Vectors of 16 bytes along what is contiguous in every operand, which is one dimension then. The rows' numbers are
// read once.
// CHECK-LABEL: func.func @vectors
func.func @vectors(%x: memref<64x32x128xf32>, %row: memref<64x32xf32>, %y: memref<64x32x128xi8>) {
  // CHECK: memref.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : memref<64x32x128xf32> into memref<2048x128xf32>
  // CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<2048x128xf32>, vector<4xf32>
  // CHECK: memref.load {{.*}} : memref<2048xf32>
  // CHECK-COUNT-4: arith.addf {{.*}} : f32
  // CHECK: vector.from_elements
  // CHECK: vector.store {{.*}} {alignment = 4 : i64} : memref<2048x128xi8>, vector<4xi8>
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %row : memref<64x32x128xf32>, memref<64x32xf32>) outs(%y : memref<64x32x128xi8>) {
  ^bb0(%a: f32, %b: f32, %z: i8):
    %0 = arith.addf %a, %b : f32
    %1 = arith.fptosi %0 : f32 to i8
    linalg.yield %1 : i8
  }
  return
}

// The order does not matter to a maximum: 32 rows of 1000, eight threads each, then their parts in pairs.
// CHECK-LABEL: func.func @maximum
func.func @maximum(%x: memref<32x1000xf32>, %y: memref<32xf32>) {
  %lowest = arith.constant 0xFF800000 : f32
  scf.forall (%i) in (1) {
    // CHECK: memref.alloc() {{.*}} : memref<32x8xf32>
    // CHECK: scf.for {{.*}} iter_args
    // CHECK: arith.maximumf
    // CHECK-COUNT-4: gpu.barrier
    // CHECK: arith.maximumf
    // CHECK: memref.store {{.*}} : memref<32xf32>
    linalg.fill ins(%lowest : f32) outs(%y : memref<32xf32>)
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%x : memref<32x1000xf32>) outs(%y : memref<32xf32>) {
    ^bb0(%a: f32, %s: f32):
      %0 = arith.maximumf %s, %a : f32
      linalg.yield %0 : f32
    }
  } {kiln.kernel = {schedule = {threads = array<i64: 256>}}}
  return
}

// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: memref<?x5xf32>, %y: memref<?x5xi64>) {
  // CHECK: %[[N:.*]] = memref.dim
  // CHECK: %[[POINTS:.*]] = affine.apply
  // CHECK: scf.forall (%[[FROM:.*]]) = (0) to (%[[POINTS]])
  // CHECK: scf.for
  // CHECK: %[[COLUMN:.*]] = arith.remui
  // CHECK: arith.index_cast %[[COLUMN]] : index to i64
  // CHECK-NOT: linalg.index
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x5xf32>) outs(%y : memref<?x5xi64>) {
  ^bb0(%a: f32, %z: i64):
    %0 = linalg.index 1 : index
    %1 = arith.index_cast %0 : index to i64
    linalg.yield %1 : i64
  }
  return
}
