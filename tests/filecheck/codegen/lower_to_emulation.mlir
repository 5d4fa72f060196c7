// A mapped kernel becomes a function of argument words and a thread: what a device has and a CPU has not are accesses
// and calls through the thread.
// RUN: kiln-opt %s --kiln-lower-to-emulation | FileCheck %s

// CHECK-LABEL: func.func @kiln_k0_step(
// CHECK-SAME: %[[WORDS:.*]]: !llvm.ptr, %[[THREAD:.*]]: !llvm.ptr)
// CHECK-NOT: gpu.
// CHECK-NOT: nvvm.
// Fields never change: they are read first.
// CHECK-DAG: llvm.getelementptr %[[THREAD]][40] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-DAG: llvm.getelementptr %[[THREAD]][32] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-DAG: llvm.getelementptr %[[THREAD]][16] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-DAG: llvm.alloca {{.*}} x !llvm.array<10 x i32>
// CHECK-DAG: llvm.alloca {{.*}} x !llvm.array<4 x i32>
// CHECK-DAG: llvm.getelementptr %[[WORDS]][0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK-DAG: llvm.getelementptr %[[WORDS]][1] : (!llvm.ptr) -> !llvm.ptr, i64
// Shared memory is plain memory.
// CHECK: memref.store {{.*}} : memref<64xf32>
// CHECK: llvm.call %{{.*}}(%[[THREAD]]) : !llvm.ptr, (!llvm.ptr) -> ()
// Two halves are one register.
// CHECK: llvm.bitcast {{.*}} : vector<2xf16> to i32
// CHECK: llvm.call %{{.*}}(%[[THREAD]], {{.*}}) : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> ()
// CHECK: llvm.insertvalue {{.*}} : !llvm.struct<(f32, f32, f32, f32)>
// CHECK: return
gpu.module @kiln_device {
  gpu.func @kiln_k0_step(%x: memref<64xf32>, %h: i32) workgroup(%a: memref<64xf32, #gpu.address_space<workgroup>>) kernel attributes {kiln.threads = 32 : i64} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    memref.store %v, %a[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %r = llvm.bitcast %h : i32 to vector<2xf16>
    %c = memref.load %a[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    %d = nvvm.mma.sync A[%r, %r, %r, %r] B[%r, %r] C[%c, %c, %c, %c] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %s = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
    memref.store %s, %x[%t] : memref<64xf32>
    gpu.return
  }
}
