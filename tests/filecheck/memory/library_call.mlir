// Library calls write their inits: results land in the caller's buffers, scratch is allocated, what is read and lives on
// is copied first, a view with gaps goes through a buffer of its own.
// RUN: kiln-opt %s --kiln-bufferize | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<4x6xi32>, %[[I:[a-z0-9]*]]: memref<3xi64>, %[[D:[a-z0-9]*]]: memref<4x6xi32>, %[[V:[a-z0-9]*]]: memref<1x4x6xi32> {{.*}}, %[[R:[a-z0-9]*]]: memref<4x6xi32>
func.func @main(%x: tensor<4x6xi32>, %i: tensor<3xi64>, %d: tensor<4x6xi32>) -> (tensor<1x4x6xi32>, tensor<4x6xi32>, tensor<4x2xi64>) {
  %e0 = tensor.empty() : tensor<1x4x6xi32>
  %e1 = tensor.empty() : tensor<1x4x6xi64>
  %e2 = tensor.empty() : tensor<8xi64>
  %x3 = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 4, 6] : tensor<4x6xi32> into tensor<1x4x6xi32>
  // CHECK: %[[AT:.*]] = memref.alloc() {{.*}} : memref<1x4x6xi64>
  // CHECK: %[[ROOM:.*]] = memref.alloc() {{.*}} : memref<8xi64>
  // CHECK: kiln.call "kiln_sort_i32"(%{{.*}}) outs(%[[V]], %[[AT]], %[[ROOM]])
  %s:3 = kiln.call "kiln_sort_i32"(%x3) outs(%e0, %e1, %e2) parameters [0] reads [] : (tensor<1x4x6xi32>, tensor<1x4x6xi32>, tensor<1x4x6xi64>, tensor<8xi64>) -> (tensor<1x4x6xi32>, tensor<1x4x6xi64>, tensor<8xi64>)
  // The argument must not change.
  // CHECK: %[[COPY:.*]] = memref.alloc() {{.*}} : memref<4x6xi32>
  // CHECK: linalg.generic {{.*}} ins(%[[D]] : {{.*}}) outs(%[[COPY]]
  // CHECK: kiln.call "kiln_scatter_set_b32"(%[[I]], %{{.*}}) outs(%[[COPY]])
  %u = tensor.extract_slice %x[0, 0] [3, 6] [1, 1] : tensor<4x6xi32> to tensor<3x6xi32>
  %r = kiln.call "kiln_scatter_set_b32"(%i, %u) outs(%d) parameters [] reads [0] : (tensor<3xi64>, tensor<3x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
  // Columns are not dense.
  // CHECK: %[[COLUMNS:.*]] = memref.subview %[[X]][0, 2] [4, 2]
  // CHECK: %[[DENSE:.*]] = memref.alloc() {{.*}} : memref<4x2xi32>
  // CHECK: linalg.generic {{.*}} ins(%[[COLUMNS]] : {{.*}}) outs(%[[DENSE]]
  // CHECK: kiln.call "kiln_argmax_i32"(%[[DENSE]])
  %columns = tensor.extract_slice %x[0, 2] [4, 2] [1, 1] : tensor<4x6xi32> to tensor<4x2xi32>
  %e3 = tensor.empty() : tensor<4x2xi64>
  %c = kiln.call "kiln_argmax_i32"(%columns) outs(%e3) parameters [0] reads [] : (tensor<4x2xi32>, tensor<4x2xi64>) -> tensor<4x2xi64>
  return %s#0, %r, %c : tensor<1x4x6xi32>, tensor<4x6xi32>, tensor<4x2xi64>
}
