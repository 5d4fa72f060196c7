#include "compiler_core/codegen/cuda/cubin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/codegen/cuda/sample_cubin.h"

namespace kiln::codegen {
namespace {

using ::kiln::testing::SampleCubin;
using ::kiln::testing::SampleKernel;
using ::testing::HasSubstr;

const std::vector<SampleKernel> kKernels = {{"kiln_k1_b", 40, 16, 24, 2048, 256, 512},
                                            {"kiln_k0_a", 19, 0, 0, 0, 128, 384}};

TEST(Cubin, KernelsSayWhatTheyTake) {
  const auto cubin = readCubin(SampleCubin(kKernels, /*reservedShared=*/true).bytes());
  ASSERT_TRUE(cubin) << cubin.error().message;
  EXPECT_EQ(cubin->toolkit, 130u);
  const auto* const kernels = &cubin->kernels;
  ASSERT_EQ(kernels->size(), 2u);
  EXPECT_EQ((*kernels)[0].name, "kiln_k0_a");
  EXPECT_EQ((*kernels)[0].registers, 19u);
  EXPECT_EQ((*kernels)[0].sharedBytes, 0u);
  EXPECT_EQ((*kernels)[0].localBytes, 0u);
  EXPECT_EQ((*kernels)[0].threads, 128u);
  EXPECT_EQ((*kernels)[0].codeBytes, 384u);
  EXPECT_EQ((*kernels)[1].registers, 40u);
  EXPECT_EQ((*kernels)[1].sharedBytes, 1024u) << "without the system's";
  EXPECT_EQ((*kernels)[1].localBytes, 24u);
  EXPECT_EQ((*kernels)[1].codeBytes, 512u);
}

TEST(Cubin, OlderDevicesReserveNoSharedMemoryInTheFile) {
  const auto cubin = readCubin(SampleCubin(kKernels, /*reservedShared=*/false).bytes());
  ASSERT_TRUE(cubin) << cubin.error().message;
  EXPECT_EQ(cubin->kernels[1].sharedBytes, 2048u);
}

TEST(Cubin, AKernelWithoutRegisterCountIsRefused) {
  const auto kernels = readCubin(SampleCubin({{"kiln_k0_a"}}, true).bytes());
  ASSERT_FALSE(kernels);
  EXPECT_THAT(kernels.error().message, HasSubstr("kernel kiln_k0_a has no register count"));
}

TEST(Cubin, TheVersionThatMadeItIsSaidAndPossible) {
  for (const std::uint16_t version : {0, 13, 1000}) {
    SampleCubin other(kKernels, true);
    other.add(".note.nv.cuinfo", SHT_NOTE, SampleCubin::versionNote(version));
    EXPECT_FALSE(readCubin(other.bytes())) << version;
  }
  SampleCubin two(kKernels, true);
  two.add(".note.nv.cuinfo", SHT_NOTE, SampleCubin::versionNote(128));
  EXPECT_FALSE(readCubin(two.bytes()));
  SampleCubin cut(kKernels, true);
  cut.add(".note.nv.cuinfo", SHT_NOTE, SampleCubin::versionNote(130).substr(0, 28));
  EXPECT_FALSE(readCubin(cut.bytes()));
  SampleCubin none(kKernels, true);
  none.rename(1, ".note.other");
  EXPECT_THAT(readCubin(none.bytes()).error().message, HasSubstr("which version of CUDA made it"));
}

TEST(Cubin, ContradictionsAreRefused) {
  SampleCubin twice(kKernels, true);
  twice.add(".text.kiln_k0_a", SHT_PROGBITS, "x");
  EXPECT_FALSE(readCubin(twice.bytes()));

  SampleCubin huge(kKernels, true);
  huge.add(".nv.shared.kiln_k0_a", SHT_NOBITS, "", 1ull << 40);
  EXPECT_FALSE(readCubin(huge.bytes()));

  SampleCubin blocks(kKernels, true);
  blocks.add(".nv.info.kiln_k0_a", SHT_LOPROC, SampleCubin::record(0x10, {0, 1, 1}), 0,
             SampleCubin::kSymbols);
  EXPECT_FALSE(readCubin(blocks.bytes()));

  SampleCubin symbols(kKernels, true);
  symbols.add(".nv.info", SHT_LOPROC, SampleCubin::record(0x2f, {99, 10}), 0, SampleCubin::kSymbols);
  EXPECT_FALSE(readCubin(symbols.bytes()));

  SampleCubin link(kKernels, true);
  link.add(".nv.info", SHT_LOPROC, SampleCubin::record(0x2f, {1, 10}), 0, 4000);
  EXPECT_FALSE(readCubin(link.bytes()));

  SampleCubin record(kKernels, true);
  record.add(".nv.info.kiln_k0_a", SHT_LOPROC, std::string("\x04\x10\xff\x00short", 9));
  EXPECT_FALSE(readCubin(record.bytes()));

  SampleCubin outside(kKernels, true);
  outside.header(outside.add(".text.kiln_k2", SHT_PROGBITS, "x")).sh_offset = 1ull << 40;
  EXPECT_FALSE(readCubin(outside.bytes()));
}

TEST(Cubin, WhatIsNoCubinIsRefused) {
  EXPECT_EQ(readCubin("").error().code, Code::kDataLoss);
  EXPECT_FALSE(readCubin(std::string(64, '\0')));
  std::string other = SampleCubin(kKernels, true).bytes();
  other[offsetof(Elf64_Ehdr, e_machine)] = 62;
  EXPECT_FALSE(readCubin(other));
}

TEST(Cubin, NoPrefixIsAccepted) {
  const std::string whole = SampleCubin(kKernels, true).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(readCubin(std::string_view(whole).substr(0, size))) << size;
}

// Nothing but an error or numbers comes of any single wrong byte.
TEST(Cubin, AnyByteMayBeWrong) {
  const std::string whole = SampleCubin(kKernels, true).bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string wrong = whole;
    wrong[at] = static_cast<char>(wrong[at] ^ 0xff);
    if (const auto cubin = readCubin(wrong)) EXPECT_LE(cubin->kernels.size(), 3u) << at;
  }
}

}  // namespace
}  // namespace kiln::codegen
