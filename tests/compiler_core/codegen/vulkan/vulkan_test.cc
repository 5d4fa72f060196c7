// Mapped kernels as SPIR-V: what the module says, that it is valid, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>

#include "compiler_core/codegen/vulkan/codegen.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVEnums.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "tests/compiler_core/codegen/cuda/sample_kernels.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_directory.h"

namespace kiln::codegen {
namespace {

using ::testing::HasSubstr;
using Op = mlir::spirv::Opcode;

// Loads and stores of every width, and what shared memory of one width makes of another.
constexpr const char* kTypes = R"(
gpu.func @kiln_k3_types(%a: memref<64xi8>, %h: memref<64xf16>, %b: memref<64xbf16>, %l: memref<64xi64>, %d: memref<64xf64>, %p: memref<64xi1>) workgroup(%s: memref<256xi8, #gpu.address_space<workgroup>>) kernel attributes {kiln.threads = 64 : i64} {
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %words = memref.view %s[%c0][] : memref<256xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
  %x = memref.load %a[%t] : memref<64xi8>
  memref.store %x, %s[%t] : memref<256xi8, #gpu.address_space<workgroup>>
  gpu.barrier
  %w = memref.load %words[%t] : memref<64xf32, #gpu.address_space<workgroup>>
  %e = memref.load %h[%t] : memref<64xf16>
  %f = arith.extf %e : f16 to f32
  %q = arith.divf %w, %f : f32
  %r = math.sqrt %q : f32
  %g = arith.truncf %r : f32 to bf16
  memref.store %g, %b[%t] : memref<64xbf16>
  %i = memref.load %l[%t] : memref<64xi64>
  %j = arith.remsi %i, %i : i64
  memref.store %j, %l[%t] : memref<64xi64>
  %o = arith.extf %r : f32 to f64
  %m = math.sin %o : f64
  memref.store %m, %d[%t] : memref<64xf64>
  %z = arith.cmpf olt, %q, %r : f32
  memref.store %z, %p[%t] : memref<64xi1>
  gpu.return
})";

constexpr const char* kLargeShared = R"(
gpu.func @kiln_k4_large(%y: memref<4xf32>) workgroup(%s: memref<8193xf32, #gpu.address_space<workgroup>>) kernel attributes {kiln.threads = 32 : i64} {
  %t = gpu.thread_id x
  %v = memref.load %s[%t] : memref<8193xf32, #gpu.address_space<workgroup>>
  memref.store %v, %y[%t] : memref<4xf32>
  gpu.return
})";

class Vulkan : public ::testing::Test {
 protected:
  Vulkan() : context_(mlir::MLIRContext::Threading::DISABLED) {
    context_.loadDialect<mlir::arith::ArithDialect, mlir::gpu::GPUDialect, mlir::NVVM::NVVMDialect,
                         mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                         mlir::vector::VectorDialect>();
  }

  Result<SpirvImage> generate(const std::string& kernels) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(testing::deviceModule(kernels), &context_);
    EXPECT_TRUE(module);
    return generateSpirv(*module, {.bitcode = {KILN_TOOLCHAIN_LIB "/kmath.bc"}});
  }

  // How often each instruction is there.
  static std::map<Op, int> count(const std::string& words) {
    std::map<Op, int> found;
    for (std::size_t at = 20; at < words.size();) {
      std::uint32_t first = 0;
      std::memcpy(&first, words.data() + at, sizeof first);
      ++found[static_cast<Op>(first & 0xffff)];
      at += std::max<std::size_t>(4, (first >> 16) * 4);
    }
    return found;
  }

  // Whether the validator of Khronos takes it; skips the test without one.
  void expectValid(const std::string& words) {
    if (!std::filesystem::exists("/usr/bin/spirv-val")) GTEST_SKIP() << "no spirv-val is installed";
    const std::string path = directory_ / "kernels.spv", log = directory_ / "log";
    std::ofstream(path, std::ios::binary) << words;
    testing_support::ChildProcess process({"/usr/bin/spirv-val", "--target-env", "vulkan1.3", path}, log);
    const int exit = process.wait();
    std::ifstream text(log);
    EXPECT_EQ(exit, 0) << text.rdbuf();
  }

  mlir::MLIRContext context_;
  testing_support::TempDirectory directory_;
};

const std::string kAll = std::string(testing::kElementwise) + testing::kReduction + kTypes;

TEST_F(Vulkan, KernelsAreValidModules) {
  const auto image = generate(kAll);
  ASSERT_TRUE(image) << image.error().message;
  ASSERT_EQ(image->kernels.size(), 3u);
  EXPECT_EQ(image->kernels[0].name, "kiln_k0_elementwise") << "the module's order";
  EXPECT_EQ(image->kernels[0].threads, 128u);
  EXPECT_EQ(image->kernels[0].sharedBytes, 0u);
  EXPECT_EQ(image->kernels[1].sharedBytes, 1024u);
  EXPECT_GT(image->kernels[1].codeBytes, 100u);
  expectValid(image->words);
}

TEST_F(Vulkan, SameKernelsSameBytes) {
  const auto first = generate(kAll), second = generate(kAll);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(first->words == second->words);
}

TEST_F(Vulkan, NothingIsLeftToTheDriversRounding) {
  const auto image = generate(kAll);
  ASSERT_TRUE(image) << image.error().message;
  const auto found = count(image->words);
  for (const Op op : {Op::OpFDiv, Op::OpFRem, Op::OpFMod, Op::OpSRem, Op::OpSMod, Op::OpFNegate})
    EXPECT_FALSE(found.contains(op)) << static_cast<int>(op);
  const int rounded =
      found.at(Op::OpFAdd) + found.at(Op::OpFMul) + (found.contains(Op::OpFSub) ? found.at(Op::OpFSub) : 0);
  int kept = 0;
  for (std::size_t at = 20; at < image->words.size();) {
    std::uint32_t words[3] = {};
    std::memcpy(words, image->words.data() + at, std::min(sizeof words, image->words.size() - at));
    if (static_cast<Op>(words[0] & 0xffff) == Op::OpDecorate &&
        words[2] == static_cast<std::uint32_t>(mlir::spirv::Decoration::NoContraction))
      ++kept;
    at += std::max<std::size_t>(4, (words[0] >> 16) * 4);
  }
  EXPECT_EQ(kept, rounded);
}

TEST_F(Vulkan, MathIsInTheModuleOnce) {
  const auto one = generate(testing::kElementwise);
  std::string again = testing::kElementwise;
  again.replace(again.find("k0"), 2, "k5");
  const auto two = generate(std::string(testing::kElementwise) + again);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(count(two->words).at(Op::OpFunction), count(one->words).at(Op::OpFunction) + 1);
}

TEST_F(Vulkan, MoreSharedMemoryThanEveryDeviceHasIsRefused) {
  const auto refused = generate(kLargeShared);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message, HasSubstr("kiln_k4_large needs 32772 bytes of shared memory"));
}

TEST_F(Vulkan, TensorCoresOfNvidiaAreRefused) {
  const auto refused = generate(testing::mmaKernel("f16"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("kiln_k2_mma_f16"));
}

}  // namespace
}  // namespace kiln::codegen
