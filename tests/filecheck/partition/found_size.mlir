// RUN: not kiln-opt %s --kiln-partition 2>&1 | FileCheck %s

// A size that the program finds out is known where it is found: what has it must be there too.
// CHECK: node 'late' has a size that depends on values of another partition
module attributes {kiln.symbols = [{name = "found", bound = affine_map<()[s0] -> (4)>}]} {
func.func @main(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<?xf32, affine_map<()[s0] -> (s0)>> {
  %a = kiln.truncate %x, %n axis 0 symbol 0 {kiln.target = "cpu:x86-64-v4"} : tensor<4xf32>, tensor<i64> to tensor<?xf32, affine_map<()[s0] -> (s0)>>
  %b = kiln.unary <neg> %a {kiln.target = "cpu:x86-64-v3"} : tensor<?xf32, affine_map<()[s0] -> (s0)>> loc("late")
  return %b : tensor<?xf32, affine_map<()[s0] -> (s0)>>
}
}
