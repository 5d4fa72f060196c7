// Products of dequantised bytes become integer products with the scales behind them.
// RUN: kiln-opt %s --kiln-quantised-products --canonicalize | FileCheck %s
// RUN: kiln-opt %s --kiln-quantised-products=row-windows=true --canonicalize | FileCheck %s --check-prefixes=CHECK,ROWS

// CHECK-LABEL: func.func @product
func.func @product(%x: tensor<4x512xui8>, %s: tensor<1x30xf32>) -> tensor<4x30xf32> {
  // CHECK: %[[A:.*]] = kiln.binary <sub>
  // CHECK: %[[B:.*]] = kiln.cast %{{.*}} : tensor<512x30xi8> to tensor<512x30xi32>
  // CHECK: %[[Y:.*]] = kiln.matmul %[[A]], %[[B]]
  // CHECK: %[[F:.*]] = kiln.cast %[[Y]] : tensor<4x30xi32> to tensor<4x30xf32>
  // CHECK: kiln.binary <mul> %[[F]], %{{.*}} : tensor<4x30xf32>
  %w = kiln.weight 0 : tensor<512x30xi8>
  %zero = kiln.constant dense<128> : tensor<4x512xi32>
  %scale = kiln.constant dense<0.5> : tensor<4x512xf32>
  %0 = kiln.cast %x : tensor<4x512xui8> to tensor<4x512xi32>
  %1 = kiln.binary <sub> %0, %zero : tensor<4x512xi32>
  %2 = kiln.cast %1 : tensor<4x512xi32> to tensor<4x512xf32>
  %3 = kiln.binary <mul> %2, %scale : tensor<4x512xf32>
  %4 = kiln.cast %w : tensor<512x30xi8> to tensor<512x30xf32>
  %5 = kiln.broadcast %s : tensor<1x30xf32> to tensor<512x30xf32>
  %6 = kiln.binary <mul> %4, %5 : tensor<512x30xf32>
  %7 = kiln.matmul %3, %6 : (tensor<4x512xf32>, tensor<512x30xf32>) -> tensor<4x30xf32>
  return %7 : tensor<4x30xf32>
}

// One scale per step of the sum cannot stand behind it.
// CHECK-LABEL: func.func @scale_per_step
func.func @scale_per_step(%x: tensor<4x512xui8>, %y: tensor<512x30xi8>, %s: tensor<512x1xf32>) -> tensor<4x30xf32> {
  // CHECK: kiln.matmul {{.*}} -> tensor<4x30xf32>
  %scale = kiln.constant dense<0.5> : tensor<4x512xf32>
  %0 = kiln.cast %x : tensor<4x512xui8> to tensor<4x512xf32>
  %1 = kiln.binary <mul> %0, %scale : tensor<4x512xf32>
  %2 = kiln.cast %y : tensor<512x30xi8> to tensor<512x30xf32>
  %3 = kiln.broadcast %s : tensor<512x1xf32> to tensor<512x30xf32>
  %4 = kiln.binary <mul> %2, %3 : tensor<512x30xf32>
  %5 = kiln.matmul %1, %4 : (tensor<4x512xf32>, tensor<512x30xf32>) -> tensor<4x30xf32>
  return %5 : tensor<4x30xf32>
}

// A sum that could leave i32 stays one of f32: 70,000 x 255 x 128.
// CHECK-LABEL: func.func @long_sum
func.func @long_sum(%x: tensor<4x70000xui8>, %y: tensor<70000x3xi8>) -> tensor<4x3xf32> {
  // CHECK: kiln.matmul {{.*}} -> tensor<4x3xf32>
  %scale = kiln.constant dense<0.5> : tensor<4x70000xf32>
  %other = kiln.constant dense<0.5> : tensor<70000x3xf32>
  %0 = kiln.cast %x : tensor<4x70000xui8> to tensor<4x70000xf32>
  %1 = kiln.binary <mul> %0, %scale : tensor<4x70000xf32>
  %2 = kiln.cast %y : tensor<70000x3xi8> to tensor<70000x3xf32>
  %3 = kiln.binary <mul> %2, %other : tensor<70000x3xf32>
  %4 = kiln.matmul %1, %3 : (tensor<4x70000xf32>, tensor<70000x3xf32>) -> tensor<4x3xf32>
  return %4 : tensor<4x3xf32>
}

// The bias of a convolution is added behind the scales.
// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<1x3x8x8xui8>, %b: tensor<4xf32>) -> tensor<1x4x6x6xf32> {
  // CHECK: kiln.conv {{.*}} -> tensor<1x4x6x6xi32>
  // CHECK: kiln.binary <mul>
  // CHECK: kiln.binary <add>
  %w = kiln.weight 0 : tensor<4x3x3x3xi8>
  %scale = kiln.constant dense<0.5> : tensor<1x3x8x8xf32>
  %scales = kiln.constant dense<0.25> : tensor<4x3x3x3xf32>
  %0 = kiln.cast %x : tensor<1x3x8x8xui8> to tensor<1x3x8x8xf32>
  %1 = kiln.binary <mul> %0, %scale : tensor<1x3x8x8xf32>
  %2 = kiln.cast %w : tensor<4x3x3x3xi8> to tensor<4x3x3x3xf32>
  %3 = kiln.binary <mul> %2, %scales : tensor<4x3x3x3xf32>
  %4 = kiln.conv %1, %3 bias %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
  return %4 : tensor<1x4x6x6xf32>
}

// Windows of one channel stay, unless their rows are multiplied at once; those whose filter has a zero point stay in any case.
// CHECK-LABEL: func.func @depthwise
func.func @depthwise(%x: tensor<1x4x8x8xui8>) -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) {
  // ROWS: kiln.conv {{.*}} group 4 {{.*}} -> tensor<1x4x6x6xi32>
  // CHECK: kiln.conv {{.*}} group 4 {{.*}} -> tensor<1x4x6x6xf32>
  // CHECK: return
  %w = kiln.weight 0 : tensor<4x1x3x3xi8>
  %scale = kiln.constant dense<0.5> : tensor<1x4x8x8xf32>
  %scales = kiln.constant dense<0.25> : tensor<4x1x3x3xf32>
  %zero = kiln.constant dense<5> : tensor<4x1x3x3xi32>
  %0 = kiln.cast %x : tensor<1x4x8x8xui8> to tensor<1x4x8x8xf32>
  %1 = kiln.binary <mul> %0, %scale : tensor<1x4x8x8xf32>
  %2 = kiln.cast %w : tensor<4x1x3x3xi8> to tensor<4x1x3x3xf32>
  %3 = kiln.binary <mul> %2, %scales : tensor<4x1x3x3xf32>
  %4 = kiln.conv %1, %3 strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 4 : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x6x6xf32>
  %5 = kiln.cast %w : tensor<4x1x3x3xi8> to tensor<4x1x3x3xi32>
  %6 = kiln.binary <sub> %5, %zero : tensor<4x1x3x3xi32>
  %7 = kiln.cast %6 : tensor<4x1x3x3xi32> to tensor<4x1x3x3xf32>
  %8 = kiln.binary <mul> %7, %scales : tensor<4x1x3x3xf32>
  %9 = kiln.conv %1, %8 strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 4 : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %4, %9 : tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>
}
