// RUN: kiln-opt %s --split-input-file --kiln-partition | FileCheck %s

// A value goes to another target by an explicit transfer, once for all its users there, and the weight is
// copied to where it is used. What is both kept and returned is two results.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2x2xf32>)
// CHECK: %[[A:.*]]:2 = call @partition_0(%[[X]]) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
// CHECK: %[[T:.*]] = kiln.transfer %[[A]]#0 from "cpu:x86-64-v4" to "cpu:x86-64-v3" : tensor<2x2xf32>
// CHECK: %[[B:.*]]:2 = call @partition_1(%[[T]], %[[X]])
// CHECK: %[[U:.*]] = kiln.transfer %[[B]]#0 from "cpu:x86-64-v3" to "cpu:x86-64-v4" : tensor<2x2xf32>
// CHECK: %[[C:.*]] = call @partition_2(%[[A]]#0, %[[U]])
// CHECK: return %[[A]]#1, %[[C]], %[[B]]#1
// CHECK-LABEL: func.func private @partition_0
// CHECK-SAME: attributes {kiln.target = "cpu:x86-64-v4"}
// CHECK: kiln.weight 0
// CHECK: kiln.matmul
// CHECK-LABEL: func.func private @partition_1
// CHECK-SAME: attributes {kiln.target = "cpu:x86-64-v3"}
// CHECK: kiln.unary <exp>
// CHECK: kiln.unary <neg>
// CHECK: kiln.weight 0
// CHECK: kiln.binary <mul>
// CHECK-LABEL: func.func private @partition_2
// CHECK: kiln.binary <add>
func.func @main(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = kiln.weight 0 : tensor<2x2xf32>
  %a = kiln.matmul %x, %w {kiln.target = "cpu:x86-64-v4"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %b = kiln.unary <exp> %a {kiln.target = "cpu:x86-64-v3"} : tensor<2x2xf32>
  %c = kiln.unary <neg> %a {kiln.target = "cpu:x86-64-v3"} : tensor<2x2xf32>
  %e = kiln.binary <mul> %b, %w {kiln.target = "cpu:x86-64-v3"} : tensor<2x2xf32>
  %f = kiln.binary <sub> %c, %x {kiln.target = "cpu:x86-64-v3"} : tensor<2x2xf32>
  %d = kiln.binary <add> %a, %e {kiln.target = "cpu:x86-64-v4"} : tensor<2x2xf32>
  return %a, %d, %f : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// One target: nothing is cut, and the marks go.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: kiln.unary <exp> %{{.*}} : tensor<2xf32>
// CHECK-NEXT: return
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = kiln.unary <exp> %x {kiln.target = "cpu:x86-64-v4"} : tensor<2xf32>
  return %a : tensor<2xf32>
}

// -----

// An input that is an output is handed through by the last partition.
// CHECK-LABEL: func.func @main
// CHECK: %[[L:.*]]:2 = call @partition_1(%{{.*}}, %{{.*}})
// CHECK: return %[[L]]#0, %[[L]]#1
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %a = kiln.unary <exp> %x {kiln.target = "cpu:x86-64-v4"} : tensor<2xf32>
  %b = kiln.unary <neg> %a {kiln.target = "cpu:x86-64-v3"} : tensor<2xf32>
  return %b, %x : tensor<2xf32>, tensor<2xf32>
}

// -----

// One device, and all on it: it reads a copy of the input, and the result goes back.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>)
// CHECK: %[[IN:.*]] = kiln.transfer %[[X]] from "host" to "cuda:sm_90a" : tensor<2xf32>
// CHECK: %[[Y:.*]] = call @partition_0(%[[IN]])
// CHECK: %[[OUT:.*]] = kiln.transfer %[[Y]] from "cuda:sm_90a" to "host" : tensor<2xf32>
// CHECK: return %[[OUT]]
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = kiln.unary <exp> %x {kiln.target = "cuda:sm_90a"} : tensor<2xf32>
  return %a : tensor<2xf32>
}

// -----

// The processor reads the caller's input where it is, and what the device makes as a copy.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>)
// CHECK: %[[IN:.*]] = kiln.transfer %[[X]] from "host" to "cuda:sm_90a"
// CHECK: %[[A:.*]] = call @partition_0(%[[IN]])
// CHECK: %[[T:.*]] = kiln.transfer %[[A]] from "cuda:sm_90a" to "cpu:x86-64-v3"
// CHECK: %[[B:.*]] = call @partition_1(%[[X]], %[[T]])
// CHECK: return %[[B]]
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = kiln.unary <exp> %x {kiln.target = "cuda:sm_90a"} : tensor<2xf32>
  %b = kiln.binary <add> %x, %a {kiln.target = "cpu:x86-64-v3"} : tensor<2xf32>
  return %b : tensor<2xf32>
}
