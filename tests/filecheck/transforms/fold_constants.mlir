// Operations on constants are evaluated; a transposed weight becomes a weight; nothing grows.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-seed-weights,func.func(kiln-fold-constants),canonicalize)' | FileCheck %s

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic() -> (tensor<2xf32>, tensor<3xi64>) {
  %a = kiln.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %b = kiln.constant dense<0.5> : tensor<2xf32>
  %0 = kiln.unary <sqrt> %a : tensor<2xf32>
  %1 = kiln.binary <add> %0, %b : tensor<2xf32>
  %c = kiln.constant dense<[7, -7, 9]> : tensor<3xi64>
  %d = kiln.constant dense<[2, 2, 0]> : tensor<3xi64>
  %2 = kiln.binary <div> %c, %d : tensor<3xi64>
  // CHECK-DAG: %[[F:.*]] = kiln.constant dense<[1.500000e+00, 2.500000e+00]> : tensor<2xf32>
  // Truncates, and division by zero is 0.
  // CHECK-DAG: %[[I:.*]] = kiln.constant dense<[3, -3, 0]> : tensor<3xi64>
  // CHECK: return %[[F]], %[[I]]
  return %1, %2 : tensor<2xf32>, tensor<3xi64>
}

// The host's libm must not be asked: these are the bits of Kiln's own exp.
// CHECK-LABEL: func.func @exponential
func.func @exponential() -> tensor<f32> {
  %a = kiln.constant dense<1.0> : tensor<f32>
  %0 = kiln.unary <exp> %a : tensor<f32>
  // CHECK: kiln.constant dense<2.71828175> : tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @weights
func.func @weights(%x: tensor<1x20xf32>) -> tensor<1x16xf32> {
  // CHECK-NOT: kiln.transpose
  // CHECK: %[[W:.*]] = kiln.weight 1 : tensor<20x16xf32>
  // CHECK: kiln.matmul %{{.*}}, %[[W]]
  %w = kiln.weight 0 : tensor<16x20xf32>
  %0 = kiln.transpose %w [1, 0] : tensor<16x20xf32> to tensor<20x16xf32>
  %1 = kiln.matmul %x, %0 : (tensor<1x20xf32>, tensor<20x16xf32>) -> tensor<1x16xf32>
  return %1 : tensor<1x16xf32>
}

// A repeated row would only take space; a splat takes none.
// CHECK-LABEL: func.func @growth
func.func @growth() -> (tensor<1000x2xf32>, tensor<1000x2xf32>) {
  // CHECK-DAG: kiln.broadcast %{{.*}} : tensor<2xf32> to tensor<1000x2xf32>
  // CHECK-DAG: kiln.constant dense<3.000000e+00> : tensor<1000x2xf32>
  %a = kiln.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = kiln.broadcast %a : tensor<2xf32> to tensor<1000x2xf32>
  %b = kiln.constant dense<3.0> : tensor<f32>
  %1 = kiln.broadcast %b : tensor<f32> to tensor<1000x2xf32>
  return %0, %1 : tensor<1000x2xf32>, tensor<1000x2xf32>
}

// Zero points of many channels.
// CHECK-LABEL: func.func @splats
func.func @splats(%x: tensor<1000xi32>) -> (tensor<1000xi32>, tensor<1000xi8>) {
  // CHECK-DAG: %[[N:.*]] = kiln.constant dense<-6> : tensor<1000xi32>
  // CHECK-DAG: %[[V:.*]] = kiln.constant dense<{{.*}}> : tensor<1000xi8>
  // CHECK-NOT: kiln.cast
  // CHECK: %[[S:.*]] = kiln.binary <sub> %{{.*}}, %[[N]]
  // CHECK: return %[[S]]
  %a = kiln.constant dense<-3> : tensor<1000xi8>
  %0 = kiln.cast %a : tensor<1000xi8> to tensor<1000xi32>
  %1 = kiln.binary <add> %0, %0 : tensor<1000xi32>
  %2 = kiln.binary <sub> %x, %1 : tensor<1000xi32>
  %3 = kiln.binary <add> %a, %a : tensor<1000xi8>
  return %2, %3 : tensor<1000xi32>, tensor<1000xi8>
}
