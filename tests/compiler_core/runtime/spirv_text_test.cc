// SPIR-V as text: the same however a module numbers its ids, and different where a kernel is.
#include "compiler_core/runtime/spirv/spirv_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "compiler_core/runtime/spirv/spirv_names.h"
#include "compiler_core/runtime/spirv/spirv_operands.h"
#include "tests/compiler_core/runtime/vulkan/vulkan_files.h"

namespace kiln::spirv {
namespace {

using runtime::test::assemble;
using runtime::test::kernelText;
using testing::ElementsAre;
using testing::HasSubstr;

class SpirvText : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(KILN_SPIRV_AS).empty()) GTEST_SKIP() << "no spirv-as here: install spirv-tools";
    module_ = assemble(kernelText());
  }
  static std::vector<FunctionText> functions(const std::string& module) {
    auto found = functionsOf(module);
    EXPECT_TRUE(found) << found.error().message;
    return found ? std::move(*found) : std::vector<FunctionText>{};
  }
  // Names of the functions whose text is not that of the module's of the same name.
  std::vector<std::string> changed(const std::string& other) const {
    std::vector<std::string> out;
    const auto mine = functions(module_);
    for (const FunctionText& function : functions(other)) {
      const auto same = std::ranges::find(mine, function.name, &FunctionText::name);
      if (same == mine.end() || same->digest != function.digest) out.push_back(function.name);
    }
    return out;
  }
  std::vector<std::string> changed(const std::string& from, const std::string& to) const {
    return changed(assemble(kernelText(from, to)));
  }
  static std::vector<std::string> lines(const std::string& module, const std::string& function) {
    const auto found = instructionsOf(module, function, 1000);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<std::string> out;
    for (const InstructionText& line : found.value_or(std::vector<InstructionText>{}))
      out.push_back(line.text);
    return out;
  }
  std::string module_;
};

TEST_F(SpirvText, NamesFunctionsAndTheirSizes) {
  const auto found = functions(module_);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "kiln_k0_scale");
  EXPECT_TRUE(found[0].isKernel);
  EXPECT_EQ(found[1].name, "kiln_k1_blocks");
  const auto last = instructionsOf(module_, "kiln_k0_scale", 1000)->back();
  EXPECT_EQ(last.text, "FunctionEnd");
  EXPECT_EQ(last.offset + 4, found[0].bytes);
}

TEST_F(SpirvText, WritesInstructionsWithTheirTypesConstantsAndModes) {
  const auto text = lines(module_, "kiln_k0_scale");
  EXPECT_THAT(text.front(), HasSubstr("LocalSize 64 1 1"));
  EXPECT_THAT(text, testing::Contains("%33 = FMul float32 float32 2 %32"));
  EXPECT_THAT(text, testing::Contains(testing::EndsWith(" memory 2 4")));
  EXPECT_THAT(text, testing::Contains("ControlBarrier uint32 2 uint32 2 uint32 264"));
  EXPECT_EQ(instructionsOf(module_, "kiln_k0_scale", 3)->size(), 3u);
}

TEST_F(SpirvText, AnotherNumberingIsTheSameText) {
  // Constants, a type and a function that come first take the numbers of others.
  EXPECT_THAT(changed("      %zero  = OpConstant %uint 0\n",
                      "      %more  = OpConstant %uint 77\n      %half = OpTypeFloat 64\n"
                      "      %zero  = OpConstant %uint 0\n"),
              ElementsAre());
  EXPECT_THAT(changed("      %scale = OpFunction %void None %function\n",
                      "      %other = OpFunction %void None %function\n      %in = OpLabel\n"
                      "               OpReturn\n               OpFunctionEnd\n"
                      "      %scale = OpFunction %void None %function\n"),
              ElementsAre(testing::StartsWith("function_")))
      << "what is new, alone";
}

TEST_F(SpirvText, WhatAKernelMeansIsInItsText) {
  const std::pair<const char*, const char*> changes[] = {
      {"%double = OpFMul %float %2f %xv", "%double = OpFAdd %float %2f %xv"},
      {"%2f   = OpConstant %float 2", "%2f   = OpConstant %float 3"},
      {"%xv    = OpLoad %float %xi Aligned 4", "%xv    = OpLoad %float %xi Aligned 8"},
      {"LocalSize 64 1 1", "LocalSize 32 1 1"},
      {"OpDecorate %thread BuiltIn LocalInvocationIndex",
       "OpDecorate %thread BuiltIn LocalInvocationIndex\nOpDecorate %double NoContraction"},
      {"%sharedRow = OpTypeArray %float %n64", "%sharedRow = OpTypeArray %float %n63"},
  };
  for (const auto& [from, to] : changes) EXPECT_THAT(changed(from, to), ElementsAre("kiln_k0_scale")) << to;
  const auto before = lines(module_, "kiln_k0_scale");
  const auto after = lines(assemble(kernelText(changes[0].first, changes[0].second)), "kiln_k0_scale");
  const auto [mine, other] = std::ranges::mismatch(before, after);
  EXPECT_EQ(*other, "%33 = FAdd float32 float32 2 %32");
  EXPECT_TRUE(std::equal(mine + 1, before.end(), other + 1)) << "and nothing else";
}

TEST_F(SpirvText, AHelperIsPartOfWhoeverCallsIt) {
  // A helper that doubles its argument, called where the kernel multiplied.
  const auto with = [](const std::string& constant) {
    std::string text =
        kernelText("%double = OpFMul %float %2f %xv", "%double = OpFunctionCall %float %help %xv");
    const std::string before = "      %scale = OpFunction %void None %function\n";
    const std::string helper =
        "%help = OpFunction %float None %helps\n%arg = OpFunctionParameter %float\n"
        "%body = OpLabel\n%made = OpFMul %float " +
        constant +
        " %arg\n"
        "OpReturnValue %made\nOpFunctionEnd\n";
    text.insert(text.find(before), helper);
    return assemble(text.insert(text.find("      %zero  ="), "%helps = OpTypeFunction %float %float\n"));
  };
  const auto first = functions(with("%2f")), second = functions(with("%arg"));
  ASSERT_EQ(first.size(), 3u);
  EXPECT_FALSE(first[0].isKernel);
  EXPECT_NE(first[0].name, second[0].name);
  EXPECT_NE(first[1].digest, second[1].digest);
  EXPECT_EQ(first[2].digest, second[2].digest);
  EXPECT_THAT(lines(with("%2f"), "kiln_k0_scale"),
              testing::Contains(HasSubstr("FunctionCall float32 " + first[0].name)));
  EXPECT_FALSE(lines(with("%2f"), first[0].name).empty());
}

TEST_F(SpirvText, EveryInstructionThatIsTakenHasAName) {
  for (std::uint32_t opcode = 0; opcode < 5000; ++opcode) {
    const bool isHead = (opcode >= 3 && opcode <= 7) || (opcode >= 10 && opcode <= 17 && opcode != 12) ||
                        opcode == kOpDecorate || opcode == kOpMemberDecorate;
    EXPECT_EQ(wordingOf(opcode).name != "?", layoutOf(opcode).has_value() && !isHead) << opcode;
  }
}

TEST_F(SpirvText, NamesAreTheSpecifications) {
  const auto run =
      runProgram({std::string(KILN_SPIRV_AS).replace(std::string(KILN_SPIRV_AS).rfind("as"), 2, "dis"),
                  "--raw-id", KILN_SPIRV_SEED},
                 {.limit = std::chrono::seconds(60)});
  if (!run || run->exitCode != 0) GTEST_SKIP() << "no spirv-dis here: install spirv-tools";
  std::vector<std::string> theirs, ours;
  std::istringstream text(run->out.substr(run->out.find("OpFunction ") - 20));
  for (std::string word; text >> word;)
    if (word.starts_with("Op")) theirs.push_back(word.substr(2));
  for (const FunctionText& function : functions(module_))
    for (const std::string& line : lines(module_, function.name)) {
      const std::size_t behind = line.find(" = ");
      const std::string said = behind == std::string::npos ? line : line.substr(behind + 3);
      ours.push_back(said.substr(0, said.find(' ')));
    }
  EXPECT_EQ(ours, theirs);
}

TEST_F(SpirvText, WhatIsNoModuleIsRefusedAndWhatIsBrokenIsReadToItsBounds) {
  EXPECT_EQ(functionsOf("").error().code, Code::kDataLoss);
  EXPECT_EQ(instructionsOf(module_, "none", 10).error().code, Code::kNotFound);
  for (std::size_t size = 0; size < module_.size(); size += 4)
    EXPECT_FALSE(functionsOf(module_.substr(0, size)).has_value() && size + 4 < module_.size()) << size;
  for (std::size_t at = 20; at < module_.size(); at += 4)
    for (const std::uint32_t value : {0u, 1u, 0xFFFFu, 0x0001003Du, 0x000500FBu, 0xFFFFFFFFu}) {
      std::string bytes = module_;
      std::memcpy(bytes.data() + at, &value, 4);
      (void)functionsOf(bytes);
      (void)instructionsOf(bytes, "kiln_k0_scale", 1000);
    }
}

}  // namespace
}  // namespace kiln::spirv
