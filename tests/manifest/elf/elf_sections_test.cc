#include "manifest/elf/elf_sections.h"

#include <gtest/gtest.h>

#include <string>

namespace kiln {
namespace {

constexpr std::uint64_t kText = sizeof(Elf64_Ehdr), kNames = kText + 4, kTable = 96;

struct Sample {
  Elf64_Ehdr header{};
  Elf64_Shdr sections[4]{};  // none, .text, .bss, names

  Sample() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shoff = kTable;
    header.e_shnum = 4;
    header.e_shstrndx = 3;
    sections[1].sh_name = 1, sections[1].sh_type = SHT_PROGBITS;
    sections[1].sh_offset = kText, sections[1].sh_size = 4;
    sections[2].sh_name = 7, sections[2].sh_type = SHT_NOBITS, sections[2].sh_size = 1 << 20;
    sections[3].sh_type = SHT_STRTAB, sections[3].sh_offset = kNames, sections[3].sh_size = 12;
  }

  std::string bytes() const {
    std::string out(kTable, '\0');
    std::memcpy(out.data(), &header, sizeof header);
    out.replace(kText, 4, "code");
    out.replace(kNames, 12, std::string("\0.text\0.bss", 12));
    return out.append(reinterpret_cast<const char*>(sections), sizeof sections);
  }
};

TEST(ElfSections, NamesAndBytes) {
  const std::string file = Sample().bytes();
  const auto elf = readElfSections(file);
  ASSERT_TRUE(elf) << elf.error().message;
  ASSERT_EQ(elf->sections.size(), 4u);
  EXPECT_EQ(elf->nameOf(elf->sections[0]), "");
  EXPECT_EQ(elf->nameOf(elf->sections[1]), ".text");
  EXPECT_EQ(elf->sections[1].bytes, "code");
  EXPECT_EQ(elf->nameOf(elf->sections[2]), ".bss");
  EXPECT_EQ(elf->sections[2].bytes, "");
}

TEST(ElfSections, WhatDoesNotFitIntoTheHeaderStandsInTheFirstSection) {
  Sample sample;
  sample.header.e_shnum = 0;
  sample.sections[0].sh_size = 4;
  sample.header.e_shstrndx = SHN_XINDEX;
  sample.sections[0].sh_link = 3;
  const std::string file = sample.bytes();
  const auto elf = readElfSections(file);
  ASSERT_TRUE(elf) << elf.error().message;
  ASSERT_EQ(elf->sections.size(), 4u);
  EXPECT_EQ(elf->nameOf(elf->sections[1]), ".text");
  sample.sections[0].sh_size = std::uint64_t{1} << 60;
  EXPECT_FALSE(readElfSections(sample.bytes()));
}

TEST(ElfSections, ANameWithoutAnEndOrATableIsNone) {
  Sample sample;
  sample.sections[3].sh_size = 6;  // cuts ".text"
  const std::string cut = sample.bytes();
  const auto elf = readElfSections(cut);
  ASSERT_TRUE(elf);
  EXPECT_FALSE(elf->nameOf(elf->sections[1]));
  sample.header.e_shstrndx = 4;
  const std::string none = sample.bytes();
  const auto nameless = readElfSections(none);
  ASSERT_TRUE(nameless);
  EXPECT_FALSE(nameless->nameOf(nameless->sections[1]));
}

TEST(ElfSections, WhatLiesOutsideTheFileIsRefused) {
  const auto refused = [](const Sample& sample) {
    const std::string file = sample.bytes();
    const auto elf = readElfSections(file);
    return !elf && elf.error().code == Code::kDataLoss;
  };
  for (const std::uint64_t wrong : {std::uint64_t{1000}, ~std::uint64_t{0}}) {
    Sample sample;
    sample.sections[1].sh_offset = wrong;
    EXPECT_TRUE(refused(sample)) << wrong;
    sample = {};
    sample.sections[1].sh_size = wrong;
    EXPECT_TRUE(refused(sample)) << wrong;
    sample = {};
    sample.header.e_shoff = wrong;
    EXPECT_TRUE(refused(sample)) << wrong;
    sample = {};
    sample.sections[0].sh_offset = wrong;  // unused, but a driver may go by it
    EXPECT_TRUE(refused(sample)) << wrong;
  }
  Sample sample;
  sample.header.e_shentsize = 40;
  EXPECT_TRUE(refused(sample));
  sample = {};
  sample.header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_TRUE(refused(sample));
  const std::string whole = Sample().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(readElfSections(std::string_view(whole).substr(0, size))) << size;
}

}  // namespace
}  // namespace kiln
