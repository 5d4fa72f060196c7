// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-decompose))' | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: %[[M:.*]] = kiln.reduce <max> %[[X]] axes [1] : tensor<2x3xf32> to tensor<2xf32>
  // CHECK: %[[R:.*]] = kiln.reshape %[[M]] : tensor<2xf32> to tensor<2x1xf32>
  // CHECK: %[[B:.*]] = kiln.broadcast %[[R]] : tensor<2x1xf32> to tensor<2x3xf32>
  // CHECK: %[[D:.*]] = kiln.binary <sub> %[[X]], %[[B]]
  // CHECK: %[[E:.*]] = kiln.unary <exp> %[[D]]
  // CHECK: %[[S:.*]] = kiln.reduce <sum> %[[E]] axes [1]
  // CHECK: %[[P:.*]] = kiln.unary <reciprocal> %[[S]] : tensor<2xf32>
  // CHECK: kiln.binary <mul> %[[E]], %{{.*}}
  // CHECK-NOT: kiln.softmax
  %0 = kiln.softmax %x axis 1 : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @batch_norm
func.func @batch_norm(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3x4xf32> {
  // CHECK: kiln.constant dense<9.99999974E-6> : tensor<3xf32>
  // CHECK: kiln.binary <add> %{{.*}}, %{{.*}} : tensor<3xf32>
  // CHECK: kiln.unary <sqrt>
  // CHECK: kiln.binary <div>
  // CHECK: kiln.broadcast %{{.*}} : tensor<1x3x1xf32> to tensor<2x3x4xf32>
  // CHECK: kiln.binary <mul>
  // CHECK: kiln.binary <add> %{{.*}}, %{{.*}} : tensor<2x3x4xf32>
  // CHECK-NOT: kiln.batch_norm
  %0 = kiln.batch_norm %x, %s, %o, %m, %v epsilon 1.0e-5 : tensor<2x3x4xf32>, tensor<3xf32>
  return %0 : tensor<2x3x4xf32>
}
