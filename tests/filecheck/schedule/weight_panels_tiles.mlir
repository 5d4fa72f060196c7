// Tiles of columns begin in the panel that the loop over tiles says, and nothing keeps the weight as it was.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-lower-to-linalg,func.func(kiln-fuse-elementwise,kiln-tile),kiln-bufferize,func.func(kiln-vectorize))' | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%{{.*}}: memref<192x512xf32> {kiln.input = 0 : i64}, %[[W:.*]]: memref<32x512x16xf32> {kiln.panels = 16 : i64, kiln.source = 0 : i64, kiln.weight = 0 : i64}, %{{.*}}: memref<192x512xf32> {kiln.output = 0 : i64})
// CHECK: scf.forall (%{{.*}}, %[[AT:.*]]) =
// CHECK: %[[FIRST:.*]] = arith.addi %[[AT]], %{{.*}}
// CHECK: %[[PANEL:.*]] = arith.divui %[[FIRST]], %{{.*}}
// CHECK: vector.load %[[W]][%[[PANEL]], %{{.*}}, %{{.*}}] : memref<32x512x16xf32>, vector<8xf32>
func.func @main(%x: tensor<192x512xf32>) -> tensor<192x512xf32> {
  %w = kiln.weight 0 : tensor<512x512xf32>
  %0 = kiln.matmul %x, %w : (tensor<192x512xf32>, tensor<512x512xf32>) -> tensor<192x512xf32>
  return %0 : tensor<192x512xf32>
}
