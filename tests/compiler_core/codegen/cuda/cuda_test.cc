#include "compiler_core/codegen/cuda/codegen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>

#include "compiler_core/math/math.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "tests/compiler_core/codegen/cuda/emulated_block.h"
#include "tests/compiler_core/codegen/cuda/sample_kernels.h"
#include "tests/support/temp_directory.h"

namespace kiln::codegen {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace ::kiln::testing;

constexpr const char* kArchs[] = {"sm_80", "sm_90a", "sm_100a"};

class Cuda : public ::testing::Test {
 protected:
  Cuda() : context_(mlir::MLIRContext::Threading::DISABLED) {
    context_.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::gpu::GPUDialect,
                         mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                         mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string& kernels) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(deviceModule(kernels), &context_);
    EXPECT_TRUE(module);
    return module;
  }

  CpuOptions cpu() const {
    CpuOptions options;
    options.target = parseTarget("cpu:x86-64-v3").value();
    options.bitcode = {KILN_TOOLCHAIN_LIB "/kmath.bc"};
    options.builtinsArchive = KILN_TOOLCHAIN_LIB "/libkiln_builtins-x86_64.a";
    options.workDirectory = directory_.path();
    return options;
  }

  CudaOptions cuda(const std::string& arch) const {
    CudaOptions options;
    options.arch = arch;
    options.bitcode = {KILN_TOOLCHAIN_LIB "/kmath.bc"};
    options.ptxas = ptxasOf(KILN_TOOLCHAIN_LIB);
    options.toolchainLib = KILN_TOOLCHAIN_LIB;
    options.workDirectory = directory_.path();
    options.keepIr = true;
    return options;
  }

  static bool noPtxas() { return !std::filesystem::exists(ptxasOf(KILN_TOOLCHAIN_LIB)); }

  mlir::MLIRContext context_;
  testing_support::TempDirectory directory_;
};

std::uint64_t wordOf(const void* pointer) {
  return std::bit_cast<std::uint64_t>(pointer);
}

TEST_F(Cuda, EmulatedArithmeticIsTheMathLibrarysToTheBit) {
  auto module = parse(kElementwise);
  const auto elf = generateEmulation(*module, cpu());
  ASSERT_TRUE(elf) << elf.error().message;
  const auto emulation = Emulation::load(*elf);
  ASSERT_TRUE(emulation) << emulation.error().message;
  EXPECT_EQ(emulation->table().abi, KILN_EMULATION_ABI);
  ASSERT_EQ(emulation->table().count, 1u);
  const kiln_emulated_entry& kernel = emulation->kernel("kiln_k0_elementwise");
  EXPECT_EQ(kernel.threads, 128u);
  EXPECT_EQ(kernel.shared_bytes, 0u);
  EXPECT_EQ(kernel.argument_count, 4u);
  EXPECT_STREQ(kernel.parameters, "ppvv");

  constexpr std::size_t kCount = 900;
  std::vector<float> x(1000), y(1000, -1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 37 - 12;
  const float scale = 0.75;
  for (std::uint32_t block = 0; block < 8; ++block) {
    const auto ran = emulation->run(
        kernel, {wordOf(x.data()), wordOf(y.data()), kCount, std::bit_cast<std::uint32_t>(scale)}, block);
    ASSERT_TRUE(ran) << ran.error().message;
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    const float product = math::exp(x[i]) * scale;
    EXPECT_EQ(y[i], product + std::fmod(math::erf(x[i]), 0.3f)) << i;
  }
  EXPECT_THAT(std::vector(y.begin() + kCount, y.end()), Each(-1)) << "guarded";
}

TEST_F(Cuda, EmulatedThreadsMeetAtBarriers) {
  auto module = parse(kReduction);
  const auto elf = generateEmulation(*module, cpu());
  ASSERT_TRUE(elf) << elf.error().message;
  const auto emulation = Emulation::load(*elf);
  ASSERT_TRUE(emulation) << emulation.error().message;
  const kiln_emulated_entry& kernel = emulation->kernel("kiln_k1_reduction");
  EXPECT_EQ(kernel.shared_bytes, 1024u);
  std::vector<float> x(1024), y(4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 29);
  for (const bool descending : {false, true})
    for (std::uint32_t block = 0; block < 4; ++block) {
      const auto ran = emulation->run(kernel, {wordOf(x.data()), wordOf(y.data())}, block, descending);
      ASSERT_TRUE(ran) << ran.error().message;
      float sum = 0;
      for (std::size_t i = 0; i < 256; ++i) sum += x[block * 256 + i];
      EXPECT_EQ(y[block], sum);
      y[block] = 0;
    }
}

class CudaMma : public Cuda, public ::testing::WithParamInterface<const char*> {};

// Fragments of matrices whose product is known, as the PTX ISA lays them out.
TEST_P(CudaMma, EmulatedStepsMultiplyFragments) {
  const std::string kind = GetParam();
  auto module = parse(mmaKernel(kind));
  const auto elf = generateEmulation(*module, cpu());
  ASSERT_TRUE(elf) << elf.error().message;
  const auto emulation = Emulation::load(*elf);
  ASSERT_TRUE(emulation) << emulation.error().message;
  const auto bits = [&](float value) -> std::uint32_t {
    if (kind == "f16") return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    const auto word = std::bit_cast<std::uint32_t>(value);
    return kind == "bf16" ? word >> 16 : word;
  };
  const int depth = kind == "tf32" ? 8 : 16;
  const auto a = [](int row, int k) { return static_cast<float>((row * 3 + k) % 7 - 3); };
  const auto b = [](int k, int column) { return static_cast<float>((k + column * 5) % 9 - 4); };
  const auto c = [](int row, int column) { return static_cast<float>(row - column); };
  std::vector<std::uint32_t> in(320);
  std::vector<float> out(128);
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, member = lane % 4;
    std::uint32_t* words = &in[static_cast<std::size_t>(lane) * 10];
    for (int i = 0; i < 4; ++i) {
      const int row = group + i % 2 * 8;
      words[i] = depth == 8
                     ? bits(a(row, member + i / 2 * 4))
                     : bits(a(row, member * 2 + i / 2 * 8)) | bits(a(row, member * 2 + 1 + i / 2 * 8)) << 16;
    }
    for (int i = 0; i < 2; ++i)
      words[4 + i] = depth == 8
                         ? bits(b(member + i * 4, group))
                         : bits(b(member * 2 + i * 8, group)) | bits(b(member * 2 + 1 + i * 8, group)) << 16;
    for (int i = 0; i < 4; ++i)
      words[6 + i] = std::bit_cast<std::uint32_t>(c(group + i / 2 * 8, member * 2 + i % 2));
  }
  const auto ran =
      emulation->run(emulation->kernel("kiln_k2_mma_" + kind), {wordOf(in.data()), wordOf(out.data())}, 0);
  ASSERT_TRUE(ran) << ran.error().message;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float expected = c(row, column);
      for (int k = 0; k < depth; ++k) expected += a(row, k) * b(k, column);
      EXPECT_EQ(out[static_cast<std::size_t>(lane * 4 + i)], expected) << lane << " " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CudaMma, ::testing::Values("f16", "bf16", "tf32"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(Cuda, KernelsAssembleForEveryDevice) {
  if (noPtxas()) GTEST_SKIP() << "CUDA's compiler parts are not installed";
  auto module = parse(std::string(kElementwise) + kReduction + mmaKernel("f16") + mmaKernel("bf16") +
                      mmaKernel("tf32"));
  for (const char* arch : kArchs) {
    const auto image = generateDeviceImage(*module, cuda(arch));
    ASSERT_TRUE(image) << arch << ": " << image.error().message;
    ASSERT_EQ(image->kernels.size(), 5u) << arch;
    EXPECT_THAT(image->driver, ::testing::MatchesRegex("1[1-9]\\.[0-9]")) << "of the ptxas that is installed";
    EXPECT_EQ(image->kernels[0].name, "kiln_k0_elementwise") << "the module's order";
    EXPECT_EQ(image->kernels[0].threads, 128u);
    EXPECT_EQ(image->kernels[0].sharedBytes, 0u);
    EXPECT_EQ(image->kernels[1].name, "kiln_k1_reduction");
    EXPECT_EQ(image->kernels[1].threads, 256u);
    EXPECT_EQ(image->kernels[1].sharedBytes, 1024u) << arch;
    for (const DeviceKernel& kernel : image->kernels) {
      EXPECT_GT(kernel.registers, 0u) << arch;
      EXPECT_EQ(kernel.spillBytes, 0u) << arch << " " << kernel.name;
      EXPECT_GT(kernel.occupancyPermille, 0u) << arch;
      EXPECT_GE(kernel.codeBytes, 128u) << arch;
    }
    EXPECT_THAT(image->ptx, HasSubstr(std::string(".target ") + arch));
    EXPECT_THAT(image->ptx, HasSubstr("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"));
    EXPECT_THAT(image->ptx, HasSubstr("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"));
    EXPECT_THAT(image->ptx, HasSubstr("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"));
    EXPECT_THAT(image->ptx, HasSubstr("bar.sync"));
    EXPECT_THAT(image->ptx, HasSubstr(".reqntid 256"));
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << "nothing stays behind";
  }
}

TEST_F(Cuda, SameKernelsSameBytes) {
  if (noPtxas()) GTEST_SKIP() << "CUDA's compiler parts are not installed";
  const std::string text = std::string(kElementwise) + kReduction + mmaKernel("f16");
  for (const char* arch : kArchs) {
    auto options = cuda(arch);
    std::string cubin, ptx;
    for (const char* place : {"", "", "", "/elsewhere/deeper"}) {
      options.workDirectory = directory_.path() + place;
      std::filesystem::create_directories(options.workDirectory);
      auto module = parse(text);
      const auto image = generateDeviceImage(*module, options);
      ASSERT_TRUE(image) << image.error().message;
      if (cubin.empty()) {
        cubin = image->cubin;
        ptx = image->ptx;
      }
      EXPECT_EQ(image->ptx, ptx) << arch << place;
      EXPECT_TRUE(image->cubin == cubin) << arch << place;
    }
    EXPECT_THAT(cubin, Not(HasSubstr(directory_.path())));
  }
}

TEST_F(Cuda, AnEmulationIsMadeOnRequestAndChangesNothing) {
  if (noPtxas()) GTEST_SKIP() << "CUDA's compiler parts are not installed";
  auto module = parse(kReduction);
  auto options = cuda("sm_90a");
  const auto without = generateDeviceImage(*module, options);
  options.emulation = cpu();
  const auto with = generateDeviceImage(*module, options);
  ASSERT_TRUE(without && with);
  EXPECT_TRUE(without->emulation.empty());
  EXPECT_TRUE(with->cubin == without->cubin);
  const auto emulation = Emulation::load(with->emulation);
  ASSERT_TRUE(emulation) << emulation.error().message;
  EXPECT_STREQ(emulation->table().entries[0].name, "kiln_k1_reduction");
}

// That nothing else points to a buffer does not mean that no other thread writes it.
TEST_F(Cuda, WhatAnotherThreadWroteIsReadBehindTheBarrier) {
  if (noPtxas()) GTEST_SKIP() << "CUDA's compiler parts are not installed";
  auto module = parse(R"(
gpu.func @kiln_k0_hand_over(%x: memref<64xf32> {llvm.noalias}, %y: memref<64xf32> {llvm.noalias}, %z: memref<64xf32> {llvm.noalias}) kernel attributes {kiln.threads = 64 : i64} {
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %v = memref.load %x[%t] : memref<64xf32>
  %is0 = arith.cmpi eq, %t, %c0 : index
  scf.if %is0 {
    memref.store %v, %y[%c0] : memref<64xf32>
  }
  gpu.barrier
  %w = memref.load %y[%c0] : memref<64xf32>
  memref.store %w, %z[%t] : memref<64xf32>
  gpu.return
})");
  const auto image = generateDeviceImage(*module, cuda("sm_90a"));
  ASSERT_TRUE(image) << image.error().message;
  const std::size_t barrier = image->ptx.find("bar.sync");
  ASSERT_NE(barrier, std::string::npos);
  EXPECT_THAT(image->ptx.substr(0, barrier), HasSubstr("ld.global.nc.b32"))
      << "what no thread writes may be cached";
  EXPECT_THAT(image->ptx.substr(barrier), HasSubstr("ld.global.b32"));
}

TEST_F(Cuda, WithoutPtxasTheToolchainIsNamed) {
  auto module = parse(kElementwise);
  auto options = cuda("sm_90a");
  options.ptxas = directory_ / "ptxas";
  const auto image = generateDeviceImage(*module, options);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, Code::kUnimplemented);
  EXPECT_THAT(image.error().message, HasSubstr("this toolchain has no ptxas"));
}

TEST_F(Cuda, AnUnknownDeviceIsNamed) {
  auto module = parse(kElementwise);
  const auto image = generateDeviceImage(*module, cuda("sm_90"));
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, Code::kUnimplemented);
  EXPECT_EQ(image.error().message, "no device sm_90 is served");
}

// What a kernel has in its body and what is said of it. Each assembles, or would with what CUDA links by
// itself.
struct Attack {
  const char* name;
  const char* body;
  const char* wrong;
};

class CudaAttack : public Cuda, public ::testing::WithParamInterface<Attack> {};

TEST_P(CudaAttack, IsRefusedByKernelAndLine) {
  auto module = parse(std::string(R"(
gpu.func @kiln_k0_attack(%x: memref<256xf32>, %n: index) kernel attributes {kiln.threads = 256 : i64} {
  %t = gpu.thread_id x
  %v = memref.load %x[%t] : memref<256xf32>
)") + GetParam().body +
                      "\n  gpu.return\n}");
  const auto image = generateDeviceImage(*module, cuda("sm_90a"));
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, Code::kInternal);
  EXPECT_THAT(image.error().message, HasSubstr(GetParam().wrong));
  EXPECT_THAT(image.error().message, HasSubstr("kernel kiln_k0_attack, line "));
}

INSTANTIATE_TEST_SUITE_P(Attacks, CudaAttack,
                         ::testing::Values(Attack{"AllocationInAKernel", R"(
  %s = memref.alloc() : memref<256xf32, #gpu.address_space<workgroup>>
  memref.store %v, %s[%t] : memref<256xf32, #gpu.address_space<workgroup>>
  gpu.barrier
  %w = memref.load %s[%n] : memref<256xf32, #gpu.address_space<workgroup>>
  memref.store %w, %x[%t] : memref<256xf32>)",
                                                  "malloc"},
                                           Attack{"Depot", R"(
  %s = memref.alloca() : memref<64xf32>
  %c64 = arith.constant 64 : index
  %i = arith.remui %t, %c64 : index
  memref.store %v, %s[%i] : memref<64xf32>
  %w = memref.load %s[%n] : memref<64xf32>
  memref.store %w, %x[%t] : memref<256xf32>)",
                                                  "local memory"},
                                           Attack{"Atomic", R"(
  %c0 = arith.constant 0 : index
  %w = memref.atomic_rmw addf %v, %x[%c0] : (f32, memref<256xf32>) -> f32)",
                                                  "atomic"},
                                           Attack{"Approximation", R"(
  %w = llvm.intr.sin(%v) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
  memref.store %w, %x[%t] : memref<256xf32>)",
                                                  "approximate"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln::codegen
