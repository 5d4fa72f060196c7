// A mapped kernel becomes a function for NVPTX: special registers, one buffer in shared memory, bar.sync.
// RUN: kiln-opt %s --kiln-lower-to-nvvm --split-input-file --verify-diagnostics | FileCheck %s

// The attributions of a block lie in one buffer, each at a multiple of 128 bytes.
// CHECK: llvm.mlir.global internal @kiln_k0_sum_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<144 x i8>
// CHECK-LABEL: func.func @kiln_k0_sum(
// CHECK-SAME: %[[X:.*]]: !llvm.ptr, %[[N:.*]]: i64, %[[F:.*]]: f32)
// CHECK: llvm.mlir.addressof @kiln_k0_sum_shared : !llvm.ptr<3>
// CHECK: builtin.unrealized_conversion_cast {{.*}} to memref<8xf32, 3>
// CHECK: builtin.unrealized_conversion_cast {{.*}} to memref<4xf32, 3>
// CHECK: nvvm.read.ptx.sreg.tid.x range <i32, 0, 64> : i32
// CHECK: nvvm.read.ptx.sreg.ctaid.y : i32
// CHECK: arith.constant 64 : index
// CHECK: memref.store {{.*}} : memref<8xf32, 3>
// CHECK: nvvm.barrier0
// CHECK-NOT: gpu.
// CHECK: return
gpu.module @kiln_device {
  gpu.func @kiln_k0_sum(%x: memref<64xf32>, %n: index, %f: f32) workgroup(%a: memref<8xf32, #gpu.address_space<workgroup>>, %b: memref<4xf32, #gpu.address_space<workgroup>>) kernel attributes {kiln.threads = 64 : i64} {
    %t = gpu.thread_id x
    %block = gpu.block_id y
    %threads = gpu.block_dim x
    %i = arith.addi %t, %block : index
    %j = arith.remui %i, %threads : index
    %k = arith.addi %j, %n : index
    memref.store %f, %a[%k] : memref<8xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %v = memref.load %a[%t] : memref<8xf32, #gpu.address_space<workgroup>>
    memref.store %v, %b[%t] : memref<4xf32, #gpu.address_space<workgroup>>
    memref.store %v, %x[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

gpu.module @kiln_device {
  // expected-error @+1 {{expected kiln.threads, a multiple of 32 up to 1024}}
  gpu.func @no_threads() kernel {
    gpu.return
  }
}

// -----

gpu.module @kiln_device {
  // expected-error @+1 {{expected kiln.threads, a multiple of 32 up to 1024}}
  gpu.func @odd_threads() kernel attributes {kiln.threads = 33 : i64} {
    gpu.return
  }
}

// -----

// What cannot be emulated is not compiled.
gpu.module @kiln_device {
  gpu.func @shuffles(%v: f32) kernel attributes {kiln.threads = 32 : i64} {
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    // expected-error @+1 {{kernels cannot have gpu.shuffle}}
    %w, %valid = gpu.shuffle xor %v, %one, %width : f32
    gpu.return
  }
}

// -----

gpu.module @kiln_device {
  // expected-error @+1 {{a kernel's private buffers would be local memory}}
  gpu.func @local() private(%p: memref<4xf32, #gpu.address_space<private>>) kernel attributes {kiln.threads = 32 : i64} {
    gpu.return
  }
}

// -----

gpu.module @kiln_device {
  gpu.func @other_shape(%bits: i32) kernel attributes {kiln.threads = 32 : i64} {
    %a = llvm.bitcast %bits : i32 to vector<2xf16>
    // expected-error @+1 {{this shape of tensor core step is not served}}
    %d = nvvm.mma.sync A[%a, %a] B[%a] C[%a, %a] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
    gpu.return
  }
}
