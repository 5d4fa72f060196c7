// Kernels whose code differs in addresses alone call one function; a part of a buffer counts as a buffer of its own.
// RUN: kiln-opt %s --kiln-outline-kernels --kiln-share-kernels | FileCheck %s

// CHECK: func.func private @kiln_k0_a_code(%[[FROM:.*]]: !llvm.ptr, %[[TO:.*]]: !llvm.ptr, %{{.*}}: i64)
// CHECK-SAME: passthrough = ["noinline"]
// CHECK: insertvalue %[[FROM]]
// CHECK: insertvalue %[[TO]]
// CHECK: memref.load
// CHECK: memref.store

// CHECK: func.func private @kiln_k0_a(%[[ENV:.*]]: !llvm.ptr, %[[TASK:.*]]: i64, %{{.*}}: !llvm.ptr)
// CHECK-NOT: kiln.code_of
// CHECK: %[[AT:.*]] = llvm.mlir.constant(128 : i64)
// CHECK: %[[PART:.*]] = llvm.getelementptr %{{.*}}[%[[AT]]]
// CHECK: call @kiln_k0_a_code(%{{.*}}, %[[PART]], %[[TASK]])

// The second part of the buffer begins 4 elements behind the first.
// CHECK: func.func private @kiln_k1_b
// CHECK-SAME: kiln.code_of = "kiln_k0_a"
// CHECK: %[[AT:.*]] = llvm.mlir.constant(144 : i64)
// CHECK: %[[PART:.*]] = llvm.getelementptr %{{.*}}[%[[AT]]]
// CHECK: call @kiln_k0_a_code(%{{.*}}, %[[PART]],

// Other code.
// CHECK: func.func private @kiln_k2_c
// CHECK-NOT: kiln.code_of
// CHECK-NOT: _code
// CHECK: math.sqrt
func.func @main(%x: memref<1x4xf32> {kiln.input = 0 : i64}, %y: memref<2x4xf32> {kiln.output = 0 : i64}) {
  %a = memref.alloc() {kiln.offset = 128 : i64} : memref<2x4xf32>
  %first = memref.subview %a[0, 0] [1, 4] [1, 1] : memref<2x4xf32> to memref<1x4xf32, strided<[4, 1]>>
  %second = memref.subview %a[1, 0] [1, 4] [1, 1] : memref<2x4xf32> to memref<1x4xf32, strided<[4, 1], offset: 4>>
  scf.forall (%i, %j) in (1, 4) {
    %0 = memref.load %x[%i, %j] : memref<1x4xf32>
    memref.store %0, %first[%i, %j] : memref<1x4xf32, strided<[4, 1]>>
  } {kiln.kernel = {nodes = ["a"]}}
  scf.forall (%i, %j) in (1, 4) {
    %0 = memref.load %x[%i, %j] : memref<1x4xf32>
    memref.store %0, %second[%i, %j] : memref<1x4xf32, strided<[4, 1], offset: 4>>
  } {kiln.kernel = {nodes = ["b"]}}
  scf.forall (%i, %j) in (2, 4) {
    %0 = memref.load %a[%i, %j] : memref<2x4xf32>
    %1 = math.sqrt %0 : f32
    memref.store %1, %y[%i, %j] : memref<2x4xf32>
  } {kiln.kernel = {nodes = ["c"]}}
  return
}
