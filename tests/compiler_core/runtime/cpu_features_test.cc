#include "compiler_core/runtime/program/cpu_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "manifest/spec/target.h"

namespace kiln::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;

// A processor with every bit set, but for one bit of one leaf.
CpuidSource everythingBut(std::uint32_t leaf, int reg, int bit, std::uint64_t xcr0 = ~std::uint64_t{0}) {
  return {[=](std::uint32_t asked, std::uint32_t) {
            std::array<std::uint32_t, 4> r{~0u, ~0u, ~0u, ~0u};
            if (asked == leaf) r[static_cast<std::size_t>(reg)] &= ~(1u << bit);
            return r;
          },
          [=] { return xcr0; }};
}

std::string problem(const CpuidSource& source, std::vector<std::string> features) {
  const Status status = checkX86Features(features, "cpu:x86-64-v3", source);
  if (status) return "";
  EXPECT_EQ(status.error().code, Code::kUnimplemented);
  return status.error().message;
}

TEST(CpuFeatures, EveryServedTargetIsKnown) {
  for (const std::string& name : servedTargets()) {
    EXPECT_EQ(problem(everythingBut(0xffffffff, 0, 0), parseTarget(name)->features), "") << name;
  }
}

TEST(CpuFeatures, NamesWhatIsMissing) {
  const auto features = parseTarget("cpu:x86-64-v3")->features;
  EXPECT_THAT(problem(everythingBut(7, 1, 5), features), HasSubstr("lacks avx2, which cpu:x86-64-v3 needs"));
  EXPECT_THAT(problem(everythingBut(1, 2, 12), features), HasSubstr("lacks fma,"));
  EXPECT_THAT(problem(everythingBut(0x80000001, 2, 5), features), HasSubstr("lacks lzcnt,"));
}

TEST(CpuFeatures, TheOperatingSystemMustSaveTheRegisters) {
  const std::string noOsxsave = problem(everythingBut(1, 2, 27), {"+avx2", "+bmi2"});
  EXPECT_THAT(noOsxsave, HasSubstr("lacks avx2,"));
  EXPECT_THAT(noOsxsave, Not(HasSubstr("bmi2")));
  EXPECT_THAT(problem(everythingBut(0xffffffff, 0, 0, 0x7), {"+avx2", "+avx512f"}),
              HasSubstr("lacks avx512f,"));
}

TEST(CpuFeatures, UnknownFeaturesAreRefused) {
  EXPECT_THAT(problem(everythingBut(0xffffffff, 0, 0), {"+avx99"}),
              HasSubstr("does not know the processor feature avx99"));
}

TEST(CpuFeatures, AnotherArchitectureIsNamed) {
  const Status status = checkHostFeatures({}, "cpu:aarch64-neoverse-n1");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("cpu:aarch64-neoverse-n1"));
}

}  // namespace
}  // namespace kiln::runtime
