// Every operation in its written form, and twice through the parser.
// RUN: kiln-opt %s | kiln-opt | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8x8xf32> {kiln.name = "image"}
func.func @main(%x: tensor<1x4x8x8xf32> {kiln.name = "image"}) -> (tensor<1x10xf32> {kiln.name = "scores"}) {
  // CHECK: %[[W:.*]] = kiln.weight 0 : tensor<8x4x3x3xf32>
  %w = kiln.weight 0 : tensor<8x4x3x3xf32>
  // CHECK: kiln.constant dense<5.000000e-01> : tensor<8xf32>
  %b = kiln.constant dense<0.5> : tensor<8xf32>
  // CHECK: kiln.conv %[[X]], %[[W]] bias %{{.*}} strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  %0 = kiln.conv %x, %w bias %b strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: kiln.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<1x8x4x4xf32>, tensor<8xf32>
  %1 = kiln.batch_norm %0, %b, %b, %b, %b epsilon 1.0e-5 : tensor<1x8x4x4xf32>, tensor<8xf32>
  // CHECK: kiln.unary <relu> %{{.*}} : tensor<1x8x4x4xf32>
  %2 = kiln.unary <relu> %1 : tensor<1x8x4x4xf32>
  // CHECK: kiln.pool <max> %{{.*}} kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x8x4x4xf32> to tensor<1x8x2x2xf32>
  %3 = kiln.pool <max> %2 kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x8x4x4xf32> to tensor<1x8x2x2xf32>
  // CHECK: kiln.pool <average> %{{.*}} pads [0, 0, 1, 1] dilations [1, 1] count_padding :
  %4 = kiln.pool <average> %3 kernel [2, 2] strides [1, 1] pads [0, 0, 1, 1] dilations [1, 1] count_padding : tensor<1x8x2x2xf32> to tensor<1x8x2x2xf32>
  // CHECK: kiln.reshape %{{.*}} : tensor<1x8x2x2xf32> to tensor<1x32xf32>
  %5 = kiln.reshape %4 : tensor<1x8x2x2xf32> to tensor<1x32xf32>
  %6 = kiln.weight 1 : tensor<10x32xf32>
  // CHECK: kiln.transpose %{{.*}} [1, 0] : tensor<10x32xf32> to tensor<32x10xf32>
  %7 = kiln.transpose %6 [1, 0] : tensor<10x32xf32> to tensor<32x10xf32>
  // CHECK: kiln.matmul %{{.*}}, %{{.*}} : (tensor<1x32xf32>, tensor<32x10xf32>) -> tensor<1x10xf32>
  %8 = kiln.matmul %5, %7 : (tensor<1x32xf32>, tensor<32x10xf32>) -> tensor<1x10xf32>
  %9 = kiln.constant dense<1.0> : tensor<f32>
  // CHECK: kiln.broadcast %{{.*}} : tensor<f32> to tensor<1x10xf32>
  %10 = kiln.broadcast %9 : tensor<f32> to tensor<1x10xf32>
  // CHECK: kiln.fused %{{.*}}, %{{.*}} : (tensor<1x10xf32>, tensor<1x10xf32>) -> tensor<1x10xf32>
  %11 = kiln.fused %8, %10 : (tensor<1x10xf32>, tensor<1x10xf32>) -> tensor<1x10xf32> {
  ^bb0(%a: tensor<1x10xf32>, %c: tensor<1x10xf32>):
    // CHECK: kiln.binary <add> %{{.*}}, %{{.*}} : tensor<1x10xf32>
    %12 = kiln.binary <add> %a, %c : tensor<1x10xf32>
    // CHECK: kiln.compare <lt> %{{.*}}, %{{.*}} : tensor<1x10xf32>
    %13 = kiln.compare <lt> %a, %c : tensor<1x10xf32>
    // CHECK: kiln.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x10xi1>, tensor<1x10xf32>
    %14 = kiln.select %13, %12, %c : tensor<1x10xi1>, tensor<1x10xf32>
    // CHECK: kiln.yield %{{.*}} : tensor<1x10xf32>
    kiln.yield %14 : tensor<1x10xf32>
  }
  // CHECK: kiln.softmax %{{.*}} axis 1 : tensor<1x10xf32>
  %15 = kiln.softmax %11 axis 1 : tensor<1x10xf32>
  return %15 : tensor<1x10xf32>
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<4x6xf32>, %i: tensor<2xi64>) -> (tensor<4xf32>, tensor<2x6xi32>, tensor<4x12xf32>) {
  // CHECK: kiln.reduce <max> %{{.*}} axes [1] : tensor<4x6xf32> to tensor<4xf32>
  %0 = kiln.reduce <max> %x axes [1] : tensor<4x6xf32> to tensor<4xf32>
  // CHECK: kiln.gather %{{.*}}[%{{.*}}] axis 0 : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<2x6xf32>
  %1 = kiln.gather %x[%i] axis 0 : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<2x6xf32>
  // CHECK: kiln.cast %{{.*}} : tensor<2x6xf32> to tensor<2x6xi32>
  %2 = kiln.cast %1 : tensor<2x6xf32> to tensor<2x6xi32>
  // CHECK: kiln.slice %{{.*}} offsets [3, 0] strides [-1, 1] : tensor<4x6xf32> to tensor<4x6xf32>
  %3 = kiln.slice %x offsets [3, 0] strides [-1, 1] : tensor<4x6xf32> to tensor<4x6xf32>
  // CHECK: kiln.concat %{{.*}}, %{{.*}} axis 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
  %4 = kiln.concat %x, %3 axis 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
  return %0, %2, %4 : tensor<4xf32>, tensor<2x6xi32>, tensor<4x12xf32>
}

// CHECK-LABEL: func.func @packed
func.func @packed(%c: tensor<2x8x6xui8>, %d: tensor<2x16x6xi8>, %s: tensor<2x6xf32>, %z: tensor<2x6xui8>) -> (tensor<32x6xf32>, tensor<32x6xf32>) {
  // CHECK: kiln.dequantise %{{.*}} scales %{{.*}} zeros %{{.*}} bits 4 : (tensor<2x8x6xui8>, tensor<2x6xf32>, tensor<2x6xui8>) -> tensor<32x6xf32>
  %0 = kiln.dequantise %c scales %s zeros %z bits 4 : (tensor<2x8x6xui8>, tensor<2x6xf32>, tensor<2x6xui8>) -> tensor<32x6xf32>
  // CHECK: kiln.dequantise %{{.*}} scales %{{.*}} bits 8 : (tensor<2x16x6xi8>, tensor<2x6xf32>) -> tensor<32x6xf32>
  %1 = kiln.dequantise %d scales %s bits 8 : (tensor<2x16x6xi8>, tensor<2x6xf32>) -> tensor<32x6xf32>
  return %0, %1 : tensor<32x6xf32>, tensor<32x6xf32>
}
