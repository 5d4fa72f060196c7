#include "compiler_core/runtime/program/cpu_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "manifest/spec/bare_metal.h"
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

TEST(CpuFeatures, EveryServedTargetThatARuntimeLoadsIsKnown) {
  for (const std::string& name : servedTargets()) {
    const auto target = parseTarget(name);
    if (isBareMetal(target->triple)) continue;  // linked into a firmware
    const auto& features = target->features;
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    if (name.starts_with("cpu:aarch64")) {
      EXPECT_TRUE(checkAArch64Features(features, name, {kAll, kAll})) << name;
    } else if (name.starts_with("cpu:riscv64")) {
      EXPECT_TRUE(checkRiscvFeatures(features, name, {kAll, kAll})) << name;
    } else {
      EXPECT_EQ(problem(everythingBut(0xffffffff, 0, 0), features), "") << name;
    }
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

TEST(CpuFeatures, Avx512NamesWhatIsMissing) {
  const auto features = parseTarget("cpu:x86-64-v4+avx512vnni+avx512bf16")->features;
  EXPECT_THAT(problem(everythingBut(7, 0, 5), features), HasSubstr("lacks avx512bf16,"));
  EXPECT_THAT(problem(everythingBut(7, 2, 11), features), HasSubstr("avx512vnni"));
  EXPECT_THAT(problem(everythingBut(7, 1, 16), features), HasSubstr("lacks avx512f,"));
  EXPECT_THAT(problem(everythingBut(0xffffffff, 0, 0, 0x66), features),
              HasSubstr("lacks avx512bf16, avx512bw, avx512cd, avx512dq, avx512f, avx512vl, avx512vnni,"));
}

std::string armProblem(std::uint64_t hwcap, const std::string& target, std::uint64_t hwcap2 = 0) {
  const Status status = checkAArch64Features(parseTarget(target)->features, target, {hwcap, hwcap2});
  return status ? "" : status.error().message;
}

TEST(CpuFeatures, AArch64NamesWhatIsMissing) {
  const std::string n1 = "cpu:aarch64-neoverse-n1";
  // What Linux reports on the Cortex-A72, which is Armv8.0-A with cryptography.
  const std::uint64_t a72 = 0xff;
  EXPECT_EQ(armProblem(a72, "cpu:aarch64"), "");
  EXPECT_THAT(armProblem(a72, n1), HasSubstr("lacks dotprod, fullfp16, lse, rcpc, rdm, which " + n1));
  EXPECT_THAT(armProblem(~(std::uint64_t{1} << 10), n1), HasSubstr("lacks fullfp16,"));
  EXPECT_THAT(armProblem(0, "cpu:aarch64"), HasSubstr("lacks fp-armv8, neon,"));
  const std::vector<std::string> strange = {"+sve9"};
  EXPECT_THAT(checkAArch64Features(strange, n1, {~std::uint64_t{0}, 0}).error().message, HasSubstr("sve9"));
}

TEST(CpuFeatures, TheSecondWordOfAArch64HasTheNewerOnes) {
  const std::string v2 = "cpu:aarch64-neoverse-v2";
  const std::uint64_t all = ~std::uint64_t{0};
  EXPECT_EQ(armProblem(all, v2, all), "");
  EXPECT_THAT(armProblem(all, v2, 0), HasSubstr("lacks bf16, i8mm, sve-bitperm, sve2, which " + v2));
  EXPECT_THAT(armProblem(~(std::uint64_t{1} << 22), v2, all), HasSubstr("lacks sve, sve-bitperm, sve2,"));
}

TEST(CpuFeatures, RiscVNamesWhatIsMissing) {
  const std::string target = "cpu:riscv64-rva22+v";
  const auto problem = [&](const RiscvCapabilities& host) {
    const Status status = checkRiscvFeatures(parseTarget(target)->features, target, host);
    return status ? "" : status.error().message;
  };
  // What Linux reports of IMAFDC with V, and of Zba, Zbb, Zbs and Zfhmin.
  const std::uint64_t letters = 0x20112d, extensions = 0x10000038;
  EXPECT_EQ(problem({letters, extensions}), "");
  EXPECT_THAT(problem({letters & 0xffff, extensions}), HasSubstr("lacks v, which " + target));
  EXPECT_THAT(problem({letters, 0x20}), HasSubstr("lacks zba, zbb, zfhmin,"));
  EXPECT_THAT(problem({letters, {}}), HasSubstr("use a newer kernel")) << "before Linux 6.4";
  const std::vector<std::string> strange = {"+zvl65536b"};
  EXPECT_THAT(checkRiscvFeatures(strange, target, {letters, extensions}).error().message,
              HasSubstr("zvl65536b"));
}

TEST(CpuFeatures, AnotherArchitectureIsNamed) {
#if defined(__x86_64__)
  const std::string other = "cpu:aarch64-neoverse-n1";
#else
  const std::string other = "cpu:x86-64-v3";
#endif
  const Status status = checkHostFeatures({}, other);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr(other));
}

}  // namespace
}  // namespace kiln::runtime
