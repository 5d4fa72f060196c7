// Everything becomes the LLVM dialect in one conversion, without casts between the dialects it came from.
// RUN: kiln-opt %s --kiln-convert-to-llvm | FileCheck %s

// CHECK-NOT: unrealized_conversion_cast
// CHECK-LABEL: llvm.func @add
func.func @add(%at: index, %x: memref<64xf32>) {
  // CHECK-DAG: %[[STEP:.*]] = llvm.mlir.constant(8 : i64) : i64
  // CHECK: llvm.add %{{.*}}, %[[STEP]]
  %step = index.constant 8
  %next = index.add %at, %step
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

// CHECK-LABEL: llvm.func @choose
func.func @choose(%which: i1, %x: f32, %y: f32) -> f32 {
  // CHECK: llvm.cond_br
  cf.cond_br %which, ^then, ^else
^then:
  // CHECK: llvm.intr.fma
  %z = math.fma %x, %y, %x : f32
  cf.br ^end(%z : f32)
^else:
  cf.br ^end(%y : f32)
^end(%result: f32):
  // CHECK: llvm.return
  return %result : f32
}

// What takes several operations becomes them: an outer product its rows, a transpose its elements.
// CHECK-LABEL: llvm.func @outer
// CHECK-COUNT-2: llvm.intr.fma
func.func @outer(%a: vector<2xf32>, %b: vector<4xf32>, %sum: vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = vector.outerproduct %a, %b, %sum : vector<2xf32>, vector<4xf32>
  return %0 : vector<2x4xf32>
}
