// What works on a device's memory outside of a kernel is refused.
// RUN: not kiln-opt %s --kiln-outline-device-kernels 2>&1 | FileCheck %s

// CHECK: reads or writes a device's memory outside of a kernel: run kiln-map-to-gpu first
func.func @main(%x: memref<3xf32> {kiln.input = 0 : i64}, %y: memref<3xf32> {kiln.output = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<3xf32>
  memref.store %0, %y[%c0] : memref<3xf32>
  return
}
