// A mapped loop becomes a kernel of the device's module, launched through the callback table with addresses that the run
// function computes; equal loops are one kernel; the buffers of a block are its shared memory.
// RUN: kiln-opt %s --kiln-outline-device-kernels | FileCheck %s

// CHECK-LABEL: func.func @kiln_run_0
// CHECK-SAME: (%[[TABLE:[^:]*]]: !llvm.ptr, %[[ARENA:[^:]*]]: !llvm.ptr, {{.*}}) -> i32 attributes
// CHECK-SAME: kiln.launches = [
// CHECK-SAME: {moved_bytes = 128 : i64, nodes = ["a"], schedule = {threads = array<i64: 64>}, shared_bytes = 128 : i64, symbol = "kiln_k0_a", tasks = 12 : i64},
// CHECK-SAME: {code_of = "kiln_k0_a", moved_bytes = 128 : i64, nodes = ["b"], schedule = {threads = array<i64: 64>}, shared_bytes = 128 : i64, symbol = "kiln_k1_b", tasks = 12 : i64},
// CHECK-SAME: {moved_bytes = 136 : i64, nodes = ["c"], schedule = {threads = array<i64: 32>}, symbol = "kiln_k2_c"
// The request and its words.
// CHECK: %[[REQUEST:.*]] = llvm.alloca {{.*}} x !llvm.array<5 x i64>
// CHECK: %[[WORDS:.*]] = llvm.alloca {{.*}} x !llvm.array<3 x i64>
// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: llvm.store %{{.*}}, %{{.*}} : i64, !llvm.ptr
// The second dense part begins 64 bytes in.
// CHECK: %[[BEHIND:.*]] = llvm.mlir.constant(64 : i64)
// CHECK: arith.addi %{{.*}}, %[[BEHIND]] : i64
// space, kernel, grid, block, count.
// CHECK: %[[SPACE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[REQUEST]][0]
// CHECK: llvm.store %[[SPACE]], %[[AT]]
// CHECK: llvm.mlir.constant(0 : i32)
// CHECK: llvm.getelementptr %[[REQUEST]][1]
// CHECK: %[[LAUNCH:.*]] = llvm.getelementptr %[[TABLE]][2]
// CHECK: %[[FUNCTION:.*]] = llvm.load %[[LAUNCH]]
// CHECK: %[[STATUS:.*]] = llvm.call %[[FUNCTION]](%{{.*}}, %[[REQUEST]])
// CHECK: arith.cmpi ne, %[[STATUS]]
// CHECK: cf.cond_br %{{.*}}, ^[[STOP:bb[0-9]+]](%[[STATUS]] : i32)
// The third kernel's grid has as many blocks as a number that is known at run time.
// CHECK: scf.if
// CHECK: arith.trunci %{{.*}} : i64 to i32
// CHECK: ^[[STOP]](%[[CODE:.*]]: i32):
// CHECK-NEXT: return %[[CODE]]

// CHECK: gpu.module @kiln_device
// CHECK: memref.global "private" constant @kiln_c[[CONSTANT:[0-9a-f]+]] : memref<2xf32> = dense<[1.000000e+00, 2.000000e+00]>
// What a kernel with barriers writes is not promised to be alone: threads read what others wrote.
// CHECK: gpu.func @kiln_k0_a(%{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr)
// CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<128xi8, #gpu.address_space<workgroup>> {llvm.align = 128 : i64})
// CHECK-SAME: kernel attributes {{{.*}}kiln.threads = 64 : i64, known_block_size = array<i32: 64, 1, 1>
// CHECK: gpu.block_id x
// CHECK: %[[OWN:.*]] = memref.view %[[SHARED]][%{{.*}}][] : memref<128xi8, #gpu.address_space<workgroup>> to memref<4xf32, #gpu.address_space<workgroup>>
// CHECK: memref.subview %[[OWN]]{{.*}} to memref<2xf32, strided<[1], offset: 2>, #gpu.address_space<workgroup>>
// CHECK: gpu.barrier
// CHECK-NOT: gpu.func @kiln_k1_b
// CHECK: gpu.func @kiln_k2_c(%{{.*}}: f32, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64)
// CHECK: memref.get_global @kiln_c[[CONSTANT]]
memref.global "private" constant @__constant_2xf32 : memref<2xf32> = dense<[1.0, 2.0]>
func.func @main(%x: memref<6x4x4xf32> {kiln.input = 0 : i64}, %n: index {kiln.symbol = 0 : i64},
                %y: memref<2x4x4xf32> {kiln.output = 0 : i64}) {
  %a = memref.alloc() {kiln.offset = 128 : i64} : memref<4x4xf32>
  %first = memref.subview %x[0, 0, 0] [1, 4, 4] [1, 1, 1] : memref<6x4x4xf32> to memref<4x4xf32, strided<[4, 1]>>
  scf.forall (%i, %j) in (4, 3) {
    %s = memref.alloc() {kiln.offset = 64 : i64} : memref<4xf32>
    %t = memref.subview %s[2] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 2>>
    %id = gpu.thread_id x
    %c1 = arith.constant 1 : index
    %0 = memref.load %first[%i, %j] : memref<4x4xf32, strided<[4, 1]>>
    memref.store %0, %t[%c1] : memref<2xf32, strided<[1], offset: 2>>
    gpu.barrier
    %1 = memref.load %s[%id] : memref<4xf32>
    memref.store %1, %a[%i, %j] : memref<4x4xf32>
  } {kiln.kernel = {nodes = ["a"], schedule = {threads = array<i64: 64>}, shared_bytes = 128 : i64}}
  %second = memref.subview %x[1, 0, 0] [1, 4, 4] [1, 1, 1] : memref<6x4x4xf32> to memref<4x4xf32, strided<[4, 1], offset: 16>>
  %b = memref.alloc() {kiln.offset = 256 : i64} : memref<4x4xf32>
  scf.forall (%i, %j) in (4, 3) {
    %s = memref.alloc() {kiln.offset = 64 : i64} : memref<4xf32>
    %t = memref.subview %s[2] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 2>>
    %id = gpu.thread_id x
    %c1 = arith.constant 1 : index
    %0 = memref.load %second[%i, %j] : memref<4x4xf32, strided<[4, 1], offset: 16>>
    memref.store %0, %t[%c1] : memref<2xf32, strided<[1], offset: 2>>
    gpu.barrier
    %1 = memref.load %s[%id] : memref<4xf32>
    memref.store %1, %b[%i, %j] : memref<4x4xf32>
  } {kiln.kernel = {nodes = ["b"], schedule = {threads = array<i64: 64>}, shared_bytes = 128 : i64}}
  %c = memref.get_global @__constant_2xf32 : memref<2xf32>
  %f = arith.index_cast %n : index to i32
  %scale = arith.sitofp %f : i32 to f32
  scf.forall (%i) in (%n) {
    %c0 = arith.constant 0 : index
    %0 = memref.load %c[%c0] : memref<2xf32>
    %1 = arith.mulf %0, %scale : f32
    memref.store %1, %y[%c0, %i, %c0] : memref<2x4x4xf32>
  } {kiln.kernel = {nodes = ["c"], schedule = {threads = array<i64: 32>}}}
  return
}
