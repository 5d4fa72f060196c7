// Everything becomes the LLVM dialect in one conversion, without casts between the dialects it came from.
// RUN: kiln-opt %s --kiln-convert-to-llvm | FileCheck %s

// CHECK-NOT: unrealized_conversion_cast
// CHECK-LABEL: llvm.func @add
func.func @add(%at: index, %x: memref<64xf32>) {
  // CHECK-DAG: %[[STEP:.*]] = llvm.mlir.constant(8 : index) : i64
  // CHECK: llvm.add %{{.*}}, %[[STEP]]
  %step = arith.constant 8 : index
  %next = arith.addi %at, %step : index
  // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
  // CHECK: llvm.fadd %{{.*}}, %{{.*}} : vector<8xf32>
  // CHECK: llvm.store
  %a = vector.load %x[%next] : memref<64xf32>, vector<8xf32>
  %b = arith.addf %a, %a : vector<8xf32>
  vector.store %b, %x[%at] : memref<64xf32>, vector<8xf32>
  // CHECK: llvm.call @scale
  func.call @scale(%next) : (index) -> ()
  return
}

// CHECK: llvm.func @scale(i64)
func.func private @scale(index)

// What takes several operations becomes them: an outer product its rows.
// CHECK-LABEL: llvm.func @outer
// CHECK-COUNT-2: llvm.intr.fmuladd
func.func @outer(%a: vector<2xf32>, %b: vector<4xf32>, %sum: vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = vector.outerproduct %a, %b, %sum : vector<2xf32>, vector<4xf32>
  return %0 : vector<2x4xf32>
}
