// A dense part of a buffer is a buffer of its own in a kernel, also below another view that the kernel does not see itself.
// RUN: kiln-opt %s --kiln-outline-kernels | FileCheck %s

// CHECK: func.func private @kiln_k0(
// CHECK: %[[PART:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<2x3xf32>
// CHECK: %[[INNER:.*]] = memref.subview %[[PART]][1, 0] [1, 3] [1, 1] : memref<2x3xf32> to memref<1x3xf32, strided<[3, 1], offset: 3>>
// CHECK: memref.load %[[INNER]][
func.func @main(%x: memref<4x3xf32> {kiln.input = 0 : i64}, %y: memref<1x3xf32> {kiln.output = 0 : i64}) {
  %part = memref.subview %x[2, 0] [2, 3] [1, 1] : memref<4x3xf32> to memref<2x3xf32, strided<[3, 1], offset: 6>>
  %inner = memref.subview %part[1, 0] [1, 3] [1, 1] : memref<2x3xf32, strided<[3, 1], offset: 6>> to memref<1x3xf32, strided<[3, 1], offset: 9>>
  scf.forall (%i, %j) in (1, 3) {
    %0 = memref.load %inner[%i, %j] : memref<1x3xf32, strided<[3, 1], offset: 9>>
    memref.store %0, %y[%i, %j] : memref<1x3xf32>
  } {kiln.kernel = {nodes = []}}
  return
}
