// A product on a device: panels in shared memory, sums in registers, what stands around it part of the same loop.
// RUN: kiln-opt %s --split-input-file --pass-pipeline='builtin.module(kiln-lower-to-linalg{device=true},func.func(kiln-fuse-elementwise,kiln-tile{device=true}),kiln-bufferize,func.func(kiln-map-to-gpu))' | FileCheck %s
// RUN: kiln-opt %s --split-input-file --pass-pipeline='builtin.module(kiln-lower-to-linalg{device=true},func.func(kiln-fuse-elementwise,kiln-tile{device=true}),kiln-bufferize,func.func(kiln-map-to-gpu{tf32=true}))' | FileCheck %s --check-prefix=TF32

// f32: one product after the other, as the model has them. Relu is applied to what is in registers.
func.func @main(%x: tensor<192x512xf32>, %w: tensor<512x512xf32>) -> tensor<192x512xf32> {
  %0 = kiln.fused %x, %w : (tensor<192x512xf32>, tensor<512x512xf32>) -> tensor<192x512xf32> {
  ^bb0(%a: tensor<192x512xf32>, %b: tensor<512x512xf32>):
    %1 = kiln.matmul %a, %b : (tensor<192x512xf32>, tensor<512x512xf32>) -> tensor<192x512xf32>
    %2 = kiln.unary <relu> %1 : tensor<192x512xf32>
    kiln.yield %2 : tensor<192x512xf32>
  }
  return %0 : tensor<192x512xf32>
}
// CHECK-LABEL: func.func @main
// CHECK: scf.forall {{.*}} = (0, 0) to (192, 512) step (32, 32)
// CHECK-NOT: linalg
// CHECK: memref.alloc() {alignment = 64 : i64, kiln.panel} : memref<16x36xf32>
// CHECK: memref.alloc() {alignment = 64 : i64, kiln.panel} : memref<16x36xf32>
// Neighbours along the columns of the second factor come four at a time.
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<512x32xf32, strided<[512, 1], offset: ?>>, vector<4xf32>
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: memref.store {{.*}} : memref<16x36xf32>
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK-COUNT-16: math.fma
// CHECK-NOT: math.fma
// CHECK: arith.cmpf ogt
// CHECK: memref.store
// CHECK-NOT: gpu.barrier
// CHECK: kiln.kernel = {{.*}}rule = "device contraction 32", schedule = {threads = array<i64: 64>
// TF32: nvvm.mma.sync A[{{.*}}] {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>

// -----

// 16-bit floats reach the tensor cores as they lie in memory; the result is rounded in registers.
func.func @main(%x: tensor<64x96xf16>, %w: tensor<96x64xf16>) -> tensor<64x64xf16> {
  %0 = kiln.cast %x : tensor<64x96xf16> to tensor<64x96xf32>
  %1 = kiln.cast %w : tensor<96x64xf16> to tensor<96x64xf32>
  %2 = kiln.fused %0, %1 : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%a: tensor<64x96xf32>, %b: tensor<96x64xf32>):
    %3 = kiln.matmul %a, %b : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf32>
    %4 = kiln.cast %3 : tensor<64x64xf32> to tensor<64x64xf16>
    kiln.yield %4 : tensor<64x64xf16>
  }
  return %2 : tensor<64x64xf16>
}
// CHECK-LABEL: func.func @main
// CHECK: scf.forall
// CHECK: memref.alloc() {alignment = 64 : i64, kiln.panel} : memref<32x40xi16>
// CHECK: memref.alloc() {alignment = 64 : i64, kiln.panel} : memref<32x40xi16>
// CHECK-NOT: memref.alloc
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xi16>
// CHECK: vector.load {{.*}} {alignment = 4 : i64} : memref<32x40xi16>, vector<2xi16>
// CHECK: vector.bitcast {{.*}} : vector<2xi16> to vector<2xf16>
// CHECK: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
// CHECK: arith.truncf
// CHECK: memref.store {{.*}}i16
// CHECK-NOT: scf.forall
// TF32: nvvm.mma.sync {{.*}}k = 16>} : (vector<2xf16>

// -----

// A convolution is a product whose one factor is gathered through its window. What lies outside of a tile counts as
// zero and is not stored.
func.func @main(%x: tensor<2x8x9x9xbf16>, %w: tensor<16x8x3x3xbf16>) -> tensor<2x16x9x9xf32> {
  %0 = kiln.cast %x : tensor<2x8x9x9xbf16> to tensor<2x8x9x9xf32>
  %1 = kiln.cast %w : tensor<16x8x3x3xbf16> to tensor<16x8x3x3xf32>
  %2 = kiln.conv %0, %1 strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1
    : (tensor<2x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<2x16x9x9xf32>
  return %2 : tensor<2x16x9x9xf32>
}
// CHECK-LABEL: func.func @main
// The padded image stays packed.
// CHECK: memref.alloc() {{.*}} : memref<2x8x11x11xi16>
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK: scf.if
// CHECK: memref.store {{.*}}xf32

// -----

// A weight of 16 bits is laid out with neighbours along the sum; no other copy of it is kept.
func.func @main(%x: tensor<64x96xf16>) -> tensor<64x64xf32> {
  %w = kiln.weight 0 : tensor<96x64xf16>
  %0 = kiln.cast %x : tensor<64x96xf16> to tensor<64x96xf32>
  %1 = kiln.cast %w : tensor<96x64xf16> to tensor<96x64xf32>
  %2 = kiln.matmul %0, %1 : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-SAME: memref<64x96xi16>
// CHECK-SAME: memref<64x96xi16> {kiln.permutation = array<i64: 1, 0>, kiln.source = 0 : i64, kiln.weight = 0 : i64}
// CHECK-NOT: kiln.weight
// CHECK: nvvm.mma.sync
