// Irregular operations become calls of the kernel library on operands of the ranks it takes; scratch is an init.
// RUN: kiln-opt %s --kiln-lower-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<3x4x5x2xf16>, %d: tensor<4x2x3xi32>, %i: tensor<6xi64>, %u: tensor<6x2x3xi32>, %m: tensor<7xi1>, %b: tensor<1x8x4xf32>, %s: tensor<1x2x8xf32>, %most: tensor<i64>, %t: tensor<f32>)
    -> (tensor<3x4x5x2xf16>, tensor<3x4x5x2xi64>, tensor<3x4x2xi64>, tensor<3x4x5x2xf16>, tensor<4x2x3xi32>, tensor<4x2x3xi32>, tensor<7xi64>, tensor<i64>, tensor<4xi64>, tensor<i64>, tensor<16x3xi64>) {
  // CHECK: %[[X:.*]] = tensor.collapse_shape %{{.*}} : tensor<3x4x5x2xi16> into tensor<12x5x2xi16>
  // CHECK: %[[S:.*]]:3 = kiln.call "kiln_sort_f16"(%[[X]]) outs(%{{.*}}, %{{.*}}, %{{.*}}) parameters [1] reads [] : (tensor<12x5x2xi16>, tensor<12x5x2xi16>, tensor<12x5x2xi64>, tensor<10xi64>)
  // CHECK: tensor.expand_shape %[[S]]#0 {{.*}} into tensor<3x4x5x2xi16>
  %v, %at = kiln.sort %x axis 2 {descending} : tensor<3x4x5x2xf16> to tensor<3x4x5x2xf16>, tensor<3x4x5x2xi64>
  // CHECK: kiln.call "kiln_argmin_f16"(%{{.*}}) outs(%{{.*}}) parameters [1] reads [] : (tensor<12x5x2xi16>, tensor<12x2xi64>)
  %a = kiln.arg_reduce <min> %x axis 2 {last} : tensor<3x4x5x2xf16> to tensor<3x4x2xi64>
  // CHECK: kiln.call "kiln_cumprod_f16"(%{{.*}}) outs(%{{.*}}) parameters [1, 0]
  %c = kiln.cumulative <prod> %x axis 0 {exclusive} : tensor<3x4x5x2xf16>
  // A copy of the caller's data, a kernel that threads share, is what is written.
  // CHECK: %[[A:.*]] = tensor.collapse_shape %arg1 {{.*}} into tensor<4x6xi32>
  // CHECK: %[[E:.*]] = tensor.empty() : tensor<4x6xi32>
  // CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<4x6xi32>) outs(%[[E]] : tensor<4x6xi32>)
  // CHECK: kiln.call "kiln_scatter_add_i32"(%arg2, %{{.*}}) outs(%[[D]]) parameters [] reads [0] : (tensor<6xi64>, tensor<6x6xi32>, tensor<4x6xi32>)
  %s0 = kiln.scatter <add> %d[%i], %u : (tensor<4x2x3xi32>, tensor<6xi64>, tensor<6x2x3xi32>) -> tensor<4x2x3xi32>
  // Replacing goes by width.
  // CHECK: kiln.call "kiln_scatter_set_b32"
  %s1 = kiln.scatter <set> %d[%i], %u : (tensor<4x2x3xi32>, tensor<6xi64>, tensor<6x2x3xi32>) -> tensor<4x2x3xi32>
  // CHECK: kiln.call "kiln_compress"(%arg4) outs(%{{.*}}, %{{.*}}) parameters [] reads [] : (tensor<7xi8>, tensor<7xi64>, tensor<i64>)
  %p, %n = kiln.compress %m : tensor<7xi1> to tensor<7xi64>, tensor<i64>
  // CHECK: kiln.call "kiln_unique_i32"(%{{.*}}) outs({{.*}}) parameters [1] reads [] : (tensor<4x6xi32>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<i64>, tensor<8xi64>)
  %q:4 = kiln.unique %d {sorted} : (tensor<4x2x3xi32>) -> (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<i64>)
  // CHECK: kiln.call "kiln_nms_f32"({{.*}}) outs({{.*}}) parameters [0] reads [] : (tensor<1x8x4xf32>, tensor<1x2x8xf32>, tensor<i64>, tensor<f32>, tensor<f32>, tensor<16x3xi64>, tensor<i64>, tensor<24xi64>)
  %k, %kn = kiln.nms %b, %s, %most, %t, %t : (tensor<1x8x4xf32>, tensor<1x2x8xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<16x3xi64>, tensor<i64>)
  return %v, %at, %a, %c, %s0, %s1, %p, %n, %q#1, %q#3, %k : tensor<3x4x5x2xf16>, tensor<3x4x5x2xi64>, tensor<3x4x2xi64>, tensor<3x4x5x2xf16>, tensor<4x2x3xi32>, tensor<4x2x3xi32>, tensor<7xi64>, tensor<i64>, tensor<4xi64>, tensor<i64>, tensor<16x3xi64>
}
