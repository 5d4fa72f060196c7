#include "compiler_core/runtime/spirv/spirv_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "compiler_core/runtime/spirv/spirv_check.h"
#include "tests/compiler_core/runtime/vulkan/vulkan_files.h"

namespace kiln::spirv {
namespace {

using runtime::test::assemble;
using runtime::test::kernelText;
using testing::HasSubstr;

class SpirvBounds : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(KILN_SPIRV_AS).empty()) GTEST_SKIP() << "no spirv-as here: install spirv-tools";
  }
  // That there is no form of the kernels that could be bounded, with these lines replaced.
  static std::string refusal(const std::string& from, const std::string& to) {
    const std::string module = assemble(kernelText(from, to));
    const auto checked = check(module);
    EXPECT_TRUE(checked) << checked.error().message;
    const auto bounded = bound(module);
    EXPECT_FALSE(bounded) << to;
    if (bounded) return "";
    EXPECT_EQ(bounded.error().code, Code::kUnimplemented);
    EXPECT_THAT(bounded.error().message, HasSubstr("cannot be kept within the memory of a launch"));
    return bounded.error().message;
  }
  // What spirv-val has against a module.
  static std::string invalid(const std::string& module) {
    testing_support::TempDirectory directory;
    std::ofstream(directory / "k.spv", std::ios::binary) << module;
    std::string validator = KILN_SPIRV_AS;
    validator.replace(validator.rfind("as"), 2, "val");
    const auto run = runProgram({validator, "--target-env", "vulkan1.3", directory / "k.spv"},
                                {.limit = std::chrono::seconds(60)});
    if (!run) return run.error().message;
    return run->exitCode == 0 ? "" : run->out + run->err;
  }
};

TEST_F(SpirvBounds, ABoundedModuleIsValid) {
  // What is never reached, with a value and without; an index of another width; a kernel that does not name
  // the push constants; arguments beyond the block's first.
  const std::string helper =
      "%helps = OpTypeFunction %float %ulong\n%help = OpFunction %float None %helps\n"
      "%arg = OpFunctionParameter %ulong\n%body = OpLabel\n%hp = OpConvertUToPtr %ptrFloat %arg\n"
      "%hv = OpLoad %float %hp Aligned 4\nOpSelectionMerge %out None\nOpBranchConditional %yes %in %out\n"
      "%in = OpLabel\nOpReturnValue %hv\n%out = OpLabel\nOpUnreachable\nOpFunctionEnd\n"
      "      %scale = OpFunction %void None %function\n";
  std::string text = kernelText("      %scale = OpFunction %void None %function\n", helper);
  text.insert(text.find("      %zero  ="), "%yes = OpConstantTrue %bool\n");
  const std::pair<const char*, const char*> changes[] = {
      {"%xv    = OpLoad %float %xi Aligned 4", "%xv    = OpFunctionCall %float %help %xa"},
      {"%cell  = OpAccessChain %ptrSharedFloat %shared %mine",
       "%cell  = OpInBoundsAccessChain %ptrSharedFloat %shared %i"},
      {"%leave1 = OpLabel\n               OpReturn", "%leave1 = OpLabel\n               OpUnreachable"},
  };
  for (const auto& [from, to] : changes) {
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), std::strlen(from), to);
  }
  for (const std::string& module : {assemble(kernelText()), assemble(text)}) {
    ASSERT_TRUE(check(module)) << check(module).error().message;
    const auto bounded = bound(module);
    ASSERT_TRUE(bounded) << bounded.error().message;
    EXPECT_EQ(invalid(*bounded), "");
    EXPECT_GT(bounded->size(), module.size());
    // It is no artifact's any more: push constants are larger than those may have.
    EXPECT_THAT(check(*bounded).error().message, HasSubstr("push constants of 48 bytes"));
  }
}

TEST_F(SpirvBounds, WhatMakesAPointerOrTakesOneIsRefused) {
  const std::string load = "%xv    = OpLoad %float %xi Aligned 4";
  EXPECT_THAT(refusal(load, "%xj = OpCopyObject %ptrFloat %xi\n%xv = OpLoad %float %xj Aligned 4"),
              HasSubstr("instruction 83 that makes a pointer"));
  EXPECT_THAT(refusal(load, "%xj = OpConvertPtrToU %ulong %xi\n" + load),
              HasSubstr("instruction 117 of a pointer"));
  EXPECT_THAT(refusal(load, "OpCopyMemory %cell %xi Aligned 4\n" + load), HasSubstr("instruction 63"));
  EXPECT_THAT(refusal(load, "%xj = OpPtrAccessChain %ptrFloat %xi %n64\n%xv = OpLoad %float %xj Aligned 4"),
              HasSubstr("instruction 67 that makes a pointer"));
  EXPECT_THAT(refusal("%cell  = OpAccessChain %ptrSharedFloat %shared %mine",
                      "%row   = OpAccessChain %ptrShared %shared\n"
                      "%cell  = OpAccessChain %ptrSharedFloat %row %mine"),
              HasSubstr("a part of what is no variable"));
}

TEST_F(SpirvBounds, APartThatAVariableDoesNotHaveIsRefused) {
  EXPECT_THAT(
      refusal("OpAccessChain %ptrSharedFloat %shared %mine", "OpAccessChain %ptrSharedFloat %shared %n64"),
      HasSubstr("a part that its variable does not have"));
}

TEST_F(SpirvBounds, AnAccessOfAnotherTypeOrOfWhatIsOnlyReadIsRefused) {
  EXPECT_THAT(refusal("%first = OpLoad %ulong %at1", "%first = OpLoad %ulong %at1\nOpStore %at1 %first"),
              HasSubstr("a store to what is read"));
  EXPECT_THAT(refusal("%xv    = OpLoad %float %xi Aligned 4",
                      "%whole = OpLoad %Push %push\n%xv    = OpLoad %float %xi Aligned 4"),
              HasSubstr("of another type than its pointer's"));
  EXPECT_THAT(refusal("OpStore %yi %sum Aligned 4", "OpStore %yi %i Aligned 4"),
              HasSubstr("of another type than its pointer's"));
  EXPECT_THAT(refusal("OpStore %yi %sum Aligned 4", "OpStore %yi %sum"), HasSubstr("unknown alignment"));
}

TEST_F(SpirvBounds, WhatBeginsUndefinedIsRefused) {
  EXPECT_THAT(refusal("%xi    = OpConvertUToPtr %ptrFloat %xa",
                      "%none = OpUndef %ulong\n%xi    = OpConvertUToPtr %ptrFloat %none"),
              HasSubstr("an undefined value"));
  EXPECT_THAT(refusal("      %n63   =", "%nowhere = OpUndef %uint\n      %n63   ="), HasSubstr("undefined"));
  const std::string push = "       %push = OpVariable %ptrPush PushConstant\n";
  EXPECT_THAT(
      refusal(push, push + "%ptrOwn = OpTypePointer Private %ulong\n%own1 = OpVariable %ptrOwn Private\n"),
      HasSubstr("a variable that begins undefined"));
  std::string text = kernelText("     %enter1 = OpLabel\n",
                                "     %enter1 = OpLabel\n      %local = OpVariable %ptrLocal Function\n");
  const std::string module =
      assemble(text.insert(text.find("      %group ="), "%ptrLocal = OpTypePointer Function %ulong\n"));
  EXPECT_THAT(bound(module).error().message, HasSubstr("a variable of a function"));
}

TEST_F(SpirvBounds, OtherPushConstantsAreRefused) {
  EXPECT_THAT(refusal("OpMemberDecorate %Push 1 Offset 8", "OpMemberDecorate %Push 1 Offset 4"),
              HasSubstr("one word behind the other"));
  const std::string push = "       %push = OpVariable %ptrPush PushConstant\n";
  EXPECT_THAT(refusal(push, push + "      %push2 = OpVariable %ptrPush PushConstant\n"),
              HasSubstr("a second variable of push constants"));
}

TEST_F(SpirvBounds, AValueIsUsedOnlyWhereAllPathsHaveDefinedIt) {
  const auto broken = [](const std::string& from, const std::string& to) {
    const auto bounded = bound(assemble(kernelText(from, to)));
    EXPECT_FALSE(bounded) << to;
    if (bounded) return std::string();
    EXPECT_EQ(bounded.error().code, Code::kDataLoss) << bounded.error().message;
    return bounded.error().message;
  };
  const std::string sum = "%sum   = OpFAdd %float %back %wv";
  EXPECT_THAT(broken(sum, "%sum   = OpFAdd %float %xv %wv"),
              HasSubstr("a path comes that has not defined it"));
  EXPECT_THAT(broken("%place1 = OpIAdd %ulong %place %long8", "%place1 = OpIAdd %ulong %place %count"),
              HasSubstr("where nothing has defined it"));
  EXPECT_THAT(broken("%value = OpConvertUToF %float %block1", "%value = OpConvertUToF %float %i"),
              HasSubstr("where nothing has defined it"));
  EXPECT_THAT(broken(sum, "%sum   = OpFAdd %float %back %float"),
              HasSubstr("is used as a value and is none"));
  EXPECT_THAT(broken(sum, "%sum   = OpFAdd %float %back %meet"), HasSubstr("a label as a value"));
  EXPECT_THAT(broken("OpSelectionMerge %leave None", "OpSelectionMerge %sum None"),
              HasSubstr("a branch to no block of the function"));
  EXPECT_THAT(
      broken("OpBranchConditional %isFirst %work1 %leave1", "OpBranchConditional %isFirst %work1 %leave"),
      HasSubstr("a branch to no block of the function"));
  EXPECT_THAT(broken("OpBranch %meet", "OpBranch %enter"), HasSubstr("a branch to no block of the function"));
  const std::string meet = "       %meet = OpLabel\n";
  EXPECT_THAT(broken(meet, meet + "%phi = OpPhi %float %2f %enter\n"), HasSubstr("a value for each block"));
  EXPECT_THAT(broken(meet, meet + "%phi = OpPhi %float %xv %enter %2f %read\n"),
              HasSubstr("a path comes that has not defined it"));
  EXPECT_TRUE(bound(assemble(kernelText(meet, meet + "%phi = OpPhi %float %2f %enter %xv %read\n"))));
  EXPECT_THAT(broken("OpBranch %meet", "OpBranch %meet\n%dead = OpIAdd %ulong %x %x"),
              HasSubstr("outside of a block"));
  EXPECT_THAT(broken("OpBranch %meet", ""), HasSubstr("a block that does not end"));
}

// Chains of branches whose blocks are dominated by one far above: the time is the module's size.
TEST_F(SpirvBounds, LongPathsTakeTimeInProportion) {
  std::string many;
  for (int i = 0; i < 20000; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    many += "OpSelectionMerge %next" + next + " None\nOpBranchConditional %isFirst %taken" + n + " %next" +
            next + "\n%taken" + n + " = OpLabel\nOpBranch %next" + next + "\n%next" + next + " = OpLabel\n";
  }
  const std::string branch = "               OpSelectionMerge %leave1 None\n";
  EXPECT_TRUE(bound(assemble(kernelText(branch, many + branch))));
}

// Modules that are broken in ways that check() does not look for.
TEST_F(SpirvBounds, WhateverPassesTheCheckIsBoundedOrRefused) {
  const std::string module = assemble(kernelText());
  std::size_t bounded = 0;
  for (std::size_t at = 20; at < module.size(); at += 4)
    for (const std::uint32_t value : {0u, 1u, 2u, 7u, 20u, 33u, 50u, 0x0004003Du, 0xFFFFFFFFu}) {
      std::string bytes = module;
      std::memcpy(bytes.data() + at, &value, 4);
      if (check(bytes)) bounded += bound(bytes).has_value() ? 1 : 0;
    }
  EXPECT_GT(bounded, 0u);
}

}  // namespace
}  // namespace kiln::spirv
