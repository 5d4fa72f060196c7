// A convolution of a small image reads its weights as vectors of channels from panels in the artifact and its window where it
// is; sums are transposed into images at the end.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise,kiln-tile),kiln-bufferize,func.func(kiln-vectorize))' | FileCheck %s

// Thirty-two channels are two panels of two registers; the plain weight is gone.
// CHECK-LABEL: func.func @main
// CHECK-SAME: memref<2x288x16xf32> {kiln.panels = 16 : i64, kiln.permutation = array<i64: 1, 2, 3, 0>, kiln.source = 0 : i64, kiln.weight = 0 : i64}
// CHECK-NOT: kiln.source = 0
func.func @main(%x: tensor<1x32x9x9xf32>) -> tensor<1x32x7x7xf32> {
  %w = kiln.weight 0 : tensor<32x32x3x3xf32>
  // Forty-nine positions of sixteen channels in scratch, and no copy of the window.
  // CHECK: scf.forall
  // CHECK: memref.alloc() {alignment = 64 : i64} : memref<784xf32>
  // CHECK-NOT: memref.alloc
  // The sum in the order of the model, in runs of at most 128 steps.
  // CHECK: scf.for {{.*}} iter_args
  // While the rows run over one block of steps, a register of each step of the next one is fetched to L2.
  // CHECK: memref.prefetch {{.*}}, read, locality<2>, data : memref<11x3x3x16xf32
  // CHECK: memref.load
  // CHECK: vector.load {{.*}} vector<8xf32>
  // CHECK: math.fma
  // Squares of eight, and the last position by itself.
  // CHECK: vector.shuffle
  // CHECK: vector.store {{.*}} : memref<16x49xf32
  // CHECK: vector.maskedstore {{.*}} : memref<16x49xf32
  // CHECK: kiln.kernel = {{.*}}schedule = {lanes = array<i64: 1>{{.*}}steps = array<i64: 128>
  %0 = kiln.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1
    : (tensor<1x32x9x9xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x7x7xf32>
  return %0 : tensor<1x32x7x7xf32>
}
