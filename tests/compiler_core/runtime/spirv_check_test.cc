// The reader of SPIR-V, on modules that spirv-as makes and on what is no module.
#include "compiler_core/runtime/spirv/spirv_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/compiler_core/runtime/vulkan/vulkan_files.h"

namespace kiln::spirv {
namespace {

using runtime::test::assemble;
using runtime::test::kernelText;
using testing::HasSubstr;

class SpirvCheck : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(KILN_SPIRV_AS).empty()) GTEST_SKIP() << "no spirv-as here: install spirv-tools";
    module_ = assemble(kernelText());
  }
  // The module with one word changed.
  std::string with(std::size_t word, std::uint32_t value) const {
    std::string bytes = module_;
    std::memcpy(bytes.data() + 4 * word, &value, 4);
    return bytes;
  }
  static Error refusal(const std::string& bytes) {
    const auto module = check(bytes);
    EXPECT_FALSE(module);
    return module ? Error{} : module.error();
  }
  static Error refusal(const std::string& from, const std::string& to) {
    return refusal(assemble(kernelText(from, to)));
  }
  std::string module_;
};

TEST_F(SpirvCheck, ReadsKernelsAndWhatTheyNeed) {
  const auto module = check(module_);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->minor, 6u);
  EXPECT_EQ(module->pushConstantBytes, 16u);
  ASSERT_EQ(module->kernels.size(), 2u);
  EXPECT_EQ(module->kernels[0].name, "kiln_k0_scale");
  EXPECT_EQ(module->kernels[0].local[0], 64u);
  EXPECT_EQ(module->kernels[0].workgroupBytes, 256u);
  EXPECT_EQ(module->kernels[1].workgroupBytes, 0u) << "it does not use it";
  EXPECT_THAT(module->capabilities, testing::ElementsAre(1u, 11u, 5347u, 5345u));
  EXPECT_EQ(capabilityName(11), "Int64");
}

TEST_F(SpirvCheck, TheSeedOfTheFuzzerIsTheTextsModule) {
  std::ifstream file(KILN_SPIRV_SEED, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  std::string seed = bytes.str(), mine = module_;
  ASSERT_EQ(seed.size(), mine.size());
  std::memset(seed.data() + 8, 0, 4);  // the assembler's version
  std::memset(mine.data() + 8, 0, 4);
  EXPECT_TRUE(seed == mine) << "assemble kernels.spvasm anew";
}

TEST_F(SpirvCheck, HeadersThatAreNoneAreRefused) {
  EXPECT_EQ(refusal("").code, Code::kDataLoss);
  EXPECT_EQ(refusal(module_.substr(0, 16)).code, Code::kDataLoss);
  EXPECT_EQ(refusal(module_ + "x").code, Code::kDataLoss);
  EXPECT_THAT(refusal(with(0, 0x03022307)).message, HasSubstr("little-endian"));
  EXPECT_THAT(refusal(with(1, 0x00020000)).message, HasSubstr("version"));
  EXPECT_EQ(refusal(with(1, 0x00010000)).code, Code::kUnimplemented);
  EXPECT_EQ(refusal(with(1, 0x00010700)).code, Code::kUnimplemented);
  EXPECT_THAT(refusal(with(3, 0)).message, HasSubstr("bound"));
  EXPECT_THAT(refusal(with(3, 0xFFFFFFFF)).message, HasSubstr("bound"));
  EXPECT_THAT(refusal(with(3, 4000000)).message, HasSubstr("larger than the module"));
  EXPECT_THAT(refusal(with(3, 10)).message, HasSubstr("outside the bound"));
  EXPECT_EQ(refusal(with(4, 1)).code, Code::kDataLoss);
}

TEST_F(SpirvCheck, EveryCutIsRefused) {
  for (std::size_t words = 0; words < module_.size() / 4; ++words)
    EXPECT_FALSE(check(std::string_view(module_).substr(0, 4 * words))) << words;
}

// Whatever one word becomes, the answer comes, and the sanitizers are content.
TEST_F(SpirvCheck, AnyWordMayBeWrong) {
  for (std::size_t word = 0; word < module_.size() / 4; ++word)
    for (const std::uint32_t value : {0u, 1u, 0xFFFFu, 0x10000u, 0x20011u, 0xFFFFFFFFu})
      (void)check(with(word, value));
}

TEST_F(SpirvCheck, AnInstructionPastTheEndIsRefused) {
  EXPECT_THAT(refusal(with(5, 0xFFFF0011)).message, HasSubstr("reaches past the end"));
  EXPECT_THAT(refusal(with(5, 0x00000011)).message, HasSubstr("an instruction of 0 words"));
}

TEST_F(SpirvCheck, WhatKernelsHaveNoUseForIsRefusedByName) {
  const auto capability = refusal("OpCapability Shader", "OpCapability Shader\nOpCapability RayQueryKHR");
  EXPECT_EQ(capability.code, Code::kUnimplemented);
  EXPECT_THAT(capability.message, HasSubstr("capability 4472"));
  EXPECT_THAT(refusal("OpMemoryModel", "OpExtension \"SPV_KHR_ray_query\"\nOpMemoryModel").message,
              HasSubstr("SPV_KHR_ray_query"));
  EXPECT_THAT(refusal("OpMemoryModel", "%e = OpExtInstImport \"OpenCL.std\"\nOpMemoryModel").message,
              HasSubstr("OpenCL.std"));
  EXPECT_THAT(refusal("PhysicalStorageBuffer64 Vulkan", "Logical Vulkan").message,
              HasSubstr("addressing model 0"));
  EXPECT_THAT(refusal("PhysicalStorageBuffer64 Vulkan", "PhysicalStorageBuffer64 GLSL450").message,
              HasSubstr("memory model 1"));
  EXPECT_THAT(refusal("GLCompute %blocks", "Vertex %blocks").message, HasSubstr("execution model 0"));
  EXPECT_THAT(refusal("OpDecorate %Push Block", "OpDecorate %Push Block\nOpDecorate %push Binding 0").message,
              HasSubstr("binding of a descriptor"));
  EXPECT_THAT(refusal("OpDecorate %Push Block", "OpDecorate %Push Block\nOpDecorate %n64 SpecId 0").message,
              HasSubstr("specialisation"));
  EXPECT_THAT(refusal("BuiltIn LocalInvocationIndex", "BuiltIn FragCoord").message, HasSubstr("built-in"));
  EXPECT_THAT(refusal("%void = OpTypeVoid", "%void = OpTypeVoid\n%sampler = OpTypeSampler").message,
              HasSubstr("instruction 26"));
  EXPECT_THAT(refusal("OpTypeStruct %ulong %ulong", "OpTypeStruct %ulong %ulong %ulong").message,
              HasSubstr("push constants of 24 bytes"));
  EXPECT_THAT(refusal("OpTypePointer Workgroup %sharedRow", "OpTypePointer Uniform %sharedRow").message,
              HasSubstr("storage class 2"));
}

TEST_F(SpirvCheck, WhatBreaksTheFormatIsRefused) {
  EXPECT_THAT(refusal("OpExecutionMode %blocks LocalSize 32 1 1", "").message,
              HasSubstr("does not say how many"));
  EXPECT_THAT(refusal("LocalSize 32 1 1", "LocalSize 32 0 1").message, HasSubstr("is 0"));
  EXPECT_THAT(refusal("\"kiln_k1_blocks\"", "\"kiln_k0_scale\"").message, HasSubstr("there twice"));
  for (const char* name : {"\"k\x1b]0;\"", "\"two words\"", "\"k\n0x0 Return\"", "\"k\xc3\xa4\""})
    EXPECT_THAT(refusal("\"kiln_k1_blocks\"", name).message, HasSubstr("visible ASCII")) << name;
  EXPECT_THAT(refusal("OpTypeArray %float %n64", "OpTypeArray %float %float").message,
              HasSubstr("no constant"));
  EXPECT_THAT(
      refusal("%shared = OpVariable %ptrShared Workgroup", "%shared = OpVariable %ptrInUint Workgroup")
          .message,
      HasSubstr("no pointer to its storage class"));
  const std::string far = "      %far   = OpConstant %ulong 9000000000\n";
  EXPECT_THAT(refusal(assemble(kernelText("OpTypeArray %float %n64", "OpTypeArray %float %far")
                                   .replace(kernelText().find("      %n64   ="), 0, far)))
                  .message,
              HasSubstr("beyond 4 GiB"));
}

TEST_F(SpirvCheck, FunctionsThatCallThemselvesAreRefused) {
  const std::string circle =
      "%a = OpFunction %void None %function\n%la = OpLabel\n%ca = OpFunctionCall %void %b\nOpReturn\n"
      "OpFunctionEnd\n%b = OpFunction %void None %function\n%lb = OpLabel\n%cb = OpFunctionCall %void %a\n"
      "OpReturn\nOpFunctionEnd\n";
  EXPECT_THAT(refusal(assemble(kernelText() + circle)).message, HasSubstr("in a circle"));
  const std::string kernel =
      "%a = OpFunction %void None %function\n%la = OpLabel\n%ca = OpFunctionCall %void %blocks\nOpReturn\n"
      "OpFunctionEnd\n";
  EXPECT_THAT(refusal(assemble(kernelText() + kernel)).message, HasSubstr("a call of a kernel"));
  const std::string straight =
      "%a = OpFunction %void None %function\n%la = OpLabel\n%ca = OpFunctionCall %void %b\nOpReturn\n"
      "OpFunctionEnd\n%b = OpFunction %void None %function\n%lb = OpLabel\nOpReturn\nOpFunctionEnd\n";
  EXPECT_TRUE(check(assemble(kernelText() + straight)));
}

}  // namespace
}  // namespace kiln::spirv
