// Mapped kernels as text; for tests.
#pragma once

#include <string>

namespace kiln::testing {

// y[i] = exp(x[i]) * s + erf(x[i]) % 0.3 for i < n, a thread each.
inline constexpr const char* kElementwise = R"(
gpu.func @kiln_k0_elementwise(%x: memref<1000xf32>, %y: memref<1000xf32>, %n: index, %s: f32) kernel attributes {kiln.threads = 128 : i64} {
  %t = gpu.thread_id x
  %b = gpu.block_id x
  %threads = gpu.block_dim x
  %first = arith.muli %b, %threads : index
  %i = arith.addi %first, %t : index
  %in = arith.cmpi ult, %i, %n : index
  scf.if %in {
    %v = memref.load %x[%i] : memref<1000xf32>
    %e = math.exp %v : f32
    %p = arith.mulf %e, %s : f32
    %f = math.erf %v : f32
    %third = arith.constant 0.3 : f32
    %r = arith.remf %f, %third : f32
    %q = arith.addf %p, %r : f32
    memref.store %q, %y[%i] : memref<1000xf32>
  }
  gpu.return
})";

// y[block] = sum of x[block * 256 ...], through shared memory by halves.
inline constexpr const char* kReduction = R"(
gpu.func @kiln_k1_reduction(%x: memref<1024xf32>, %y: memref<4xf32>) workgroup(%s: memref<256xf32, #gpu.address_space<workgroup>>) kernel attributes {kiln.threads = 256 : i64} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  %t = gpu.thread_id x
  %b = gpu.block_id x
  %threads = gpu.block_dim x
  %first = arith.muli %b, %threads : index
  %i = arith.addi %first, %t : index
  %v = memref.load %x[%i] : memref<1024xf32>
  memref.store %v, %s[%t] : memref<256xf32, #gpu.address_space<workgroup>>
  gpu.barrier
  %last = scf.for %k = %c0 to %c8 step %c1 iter_args(%half = %c128) -> index {
    %adds = arith.cmpi ult, %t, %half : index
    scf.if %adds {
      %o = arith.addi %t, %half : index
      %l = memref.load %s[%t] : memref<256xf32, #gpu.address_space<workgroup>>
      %r = memref.load %s[%o] : memref<256xf32, #gpu.address_space<workgroup>>
      %q = arith.addf %l, %r : f32
      memref.store %q, %s[%t] : memref<256xf32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %next = arith.divui %half, %c2 : index
    scf.yield %next : index
  }
  %is0 = arith.cmpi eq, %t, %c0 : index
  scf.if %is0 {
    %r = memref.load %s[%c0] : memref<256xf32, #gpu.address_space<workgroup>>
    memref.store %r, %y[%b] : memref<4xf32>
  }
  gpu.return
})";

// One tensor core step of one warp: each thread's registers from memory and back. KIND: f16, bf16 or tf32.
inline std::string mmaKernel(const std::string& kind) {
  const bool half = kind == "f16", tf32 = kind == "tf32";
  const std::string reg = half ? "vector<2xf16>" : "i32", name = "kiln_k2_mma_" + kind;
  std::string text =
      "gpu.func @" + name +
      "(%in: memref<32x10xi32>, %out: memref<32x4xf32>) kernel attributes {kiln.threads = 32 : i64} {\n"
      "  %t = gpu.thread_id x\n";
  for (int i = 0; i < 10; ++i) {
    const std::string n = std::to_string(i);
    text += "  %c" + n + " = arith.constant " + n + " : index\n  %w" + n + " = memref.load %in[%t, %c" + n +
            "] : memref<32x10xi32>\n";
    if (i >= 6)
      text += "  %r" + n + " = arith.bitcast %w" + n + " : i32 to f32\n";
    else if (half)
      text += "  %r" + n + " = llvm.bitcast %w" + n + " : i32 to " + reg + "\n";
  }
  const std::string r = half ? "%r" : "%w";
  text += "  %d = nvvm.mma.sync A[" + r + "0, " + r + "1, " + r + "2, " + r + "3] B[" + r + "4, " + r +
          "5] C[%r6, %r7, %r8, %r9] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, ";
  if (!half)
    text += "multiplicandAPtxType = #nvvm.mma_type<" + kind + ">, multiplicandBPtxType = #nvvm.mma_type<" +
            kind + ">, ";
  text += std::string("shape = #nvvm.shape<m = 16, n = 8, k = ") + (tf32 ? "8" : "16") + ">} : (" + reg +
          ", " + reg + ", f32) -> !llvm.struct<(f32, f32, f32, f32)>\n";
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    text += "  %d" + n + " = llvm.extractvalue %d[" + n +
            "] : !llvm.struct<(f32, f32, f32, f32)>\n  memref.store %d" + n + ", %out[%t, %c" + n +
            "] : memref<32x4xf32>\n";
  }
  return text + "  gpu.return\n}\n";
}

inline std::string deviceModule(const std::string& kernels) {
  return "gpu.module @kiln_device {\n" + kernels + "\n}\n";
}

}  // namespace kiln::testing
