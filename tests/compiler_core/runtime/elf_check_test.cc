#include "compiler_core/runtime/elf/elf_check.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "compiler_core/runtime/program_abi.h"

namespace kiln::runtime {
namespace {

using testing::HasSubstr;

std::vector<std::uint8_t> program(const std::string& name) {
  std::ifstream file(std::string(KILN_TEST_PROGRAMS) + "/" + name + ".so", std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<ElfImage> check(Bytes file) {
  return checkElf(file, ElfMachine::kX8664, KILN_PROGRAM_SYMBOL, sizeof(kiln_program));
}

std::string finding(Bytes file) {
  const auto image = check(file);
  return image ? "accepted" : image.error().message;
}

// Changes program header fields by type.
template <class F>
std::vector<std::uint8_t> withHeader(std::vector<std::uint8_t> file, std::uint32_t type, F change) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  for (int i = 0; i < header.e_phnum; ++i) {
    auto* const at = file.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr entry;
    std::memcpy(&entry, at, sizeof entry);
    if (entry.p_type != type) continue;
    change(entry);
    std::memcpy(at, &entry, sizeof entry);
    return file;
  }
  ADD_FAILURE() << "no header of type " << type;
  return file;
}

TEST(ElfCheck, AcceptsWhatKilnLinks) {
  for (const char* name : {"good", "good_sysv_hash", "wrong_abi"}) {
    const auto image = check(program(name));
    ASSERT_TRUE(image) << name << ": " << image.error().message;
    EXPECT_TRUE(image->contains(image->symbolAddress, sizeof(kiln_program), false));
    EXPECT_FALSE(image->contains(image->symbolAddress, 1, true)) << "data is not executable";
    for (const ElfSegment& segment : image->segments) EXPECT_FALSE(segment.writable && segment.executable);
  }
}

TEST(ElfCheck, RefusesByName) {
  EXPECT_THAT(finding(program("needed")), HasSubstr("depends on a library (DT_NEEDED)"));
  EXPECT_THAT(finding(program("constructor")), HasSubstr("constructors"));
  EXPECT_THAT(finding(program("init")), HasSubstr("constructors"));
  EXPECT_THAT(finding(program("destructor")), HasSubstr("destructors"));
  EXPECT_THAT(finding(program("fini")), HasSubstr("destructors"));
  EXPECT_THAT(finding(program("tls")), HasSubstr("thread-local storage"));
  EXPECT_THAT(finding(program("undefined")), HasSubstr("missing_function is undefined"));
  EXPECT_THAT(finding(program("ifunc")), HasSubstr("IFUNC"));
  EXPECT_THAT(finding(program("textrel")), HasSubstr("text relocations"));
  EXPECT_THAT(finding(program("writable_code")), HasSubstr("both writable and executable"));
  EXPECT_THAT(finding(program("exec_stack")), HasSubstr("executable stack"));
  EXPECT_THAT(finding(program("runpath")), HasSubstr("search path"));
  EXPECT_THAT(finding(program("narrow")), HasSubstr("not 64-bit"));
}

TEST(ElfCheck, AnotherMachineIsAnUnsupportedTarget) {
  const auto image = check(program("wrong_machine"));
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, Code::kUnimplemented);
  EXPECT_THAT(image.error().message, HasSubstr("the program is for AArch64, this machine is x86-64"));
  const auto own =
      checkElf(program("wrong_machine"), ElfMachine::kAArch64, KILN_PROGRAM_SYMBOL, sizeof(kiln_program));
  EXPECT_TRUE(own) << own.error().message;
}

TEST(ElfCheck, HeaderFields) {
  const auto good = program("good");
  auto bad = good;
  bad[EI_DATA] = ELFDATA2MSB;
  EXPECT_THAT(finding(bad), HasSubstr("not little-endian"));
  bad = good;
  bad[16] = ET_EXEC;
  EXPECT_THAT(finding(bad), HasSubstr("no shared object"));
  bad = good;
  bad[EI_OSABI] = ELFOSABI_FREEBSD;
  EXPECT_THAT(finding(bad), HasSubstr("another operating system"));
  EXPECT_THAT(finding(Bytes()), HasSubstr("no ELF file"));
  EXPECT_THAT(finding(asBytes("#!/bin/sh")), HasSubstr("no ELF file"));
}

TEST(ElfCheck, SegmentFields) {
  const auto good = program("good");
  const auto changed = [&](std::uint32_t type, auto change) {
    return finding(withHeader(good, type, change));
  };
  EXPECT_THAT(changed(PT_LOAD, [](Elf64_Phdr& h) { h.p_flags = PF_R | PF_W | PF_X; }),
              HasSubstr("writable and executable"));
  EXPECT_THAT(changed(PT_LOAD, [](Elf64_Phdr& h) { h.p_filesz = h.p_memsz = 1u << 30; }),
              HasSubstr("outside the file"));
  EXPECT_THAT(changed(PT_LOAD, [](Elf64_Phdr& h) { h.p_offset = ~0ull; }), HasSubstr("outside the file"));
  EXPECT_THAT(changed(PT_LOAD, [](Elf64_Phdr& h) { h.p_memsz = ~0ull; }), HasSubstr("no sane size"));
  EXPECT_THAT(changed(PT_LOAD, [](Elf64_Phdr& h) { h.p_align = 3; }), HasSubstr("not aligned"));
  EXPECT_THAT(changed(PT_LOAD, [](Elf64_Phdr& h) { h.p_vaddr += 0x10000; }), HasSubstr("out of order"));
  EXPECT_THAT(changed(PT_GNU_STACK, [](Elf64_Phdr& h) { h.p_type = PT_NULL; }),
              HasSubstr("does not say that its stack"));
  EXPECT_THAT(changed(PT_GNU_STACK, [](Elf64_Phdr& h) { h.p_type = PT_INTERP; }), HasSubstr("PT_INTERP"));
  EXPECT_THAT(changed(PT_GNU_RELRO, [](Elf64_Phdr& h) { h.p_vaddr = 0; }), HasSubstr("points outside"));
  EXPECT_THAT(changed(PT_DYNAMIC, [](Elf64_Phdr& h) { h.p_type = PT_NULL; }),
              HasSubstr("no dynamic section"));
  EXPECT_THAT(changed(PT_DYNAMIC, [](Elf64_Phdr& h) { h.p_vaddr = ~0ull - 8; }), HasSubstr("points outside"));
}

TEST(ElfCheck, NeedsTheProgramTable) {
  const auto good = program("good");
  EXPECT_THAT(checkElf(good, ElfMachine::kX8664, "other", 1).error().message, HasSubstr("data symbol other"));
  EXPECT_THAT(checkElf(good, ElfMachine::kX8664, KILN_PROGRAM_SYMBOL, 4096).error().message,
              HasSubstr("does not export"));
}

// Every truncation, and random damage to headers and tables: refused or accepted, never read out of range
// (ASan).
TEST(ElfCheck, SurvivesMutation) {
  const auto good = program("good");
  for (std::size_t n = 0; n < good.size(); n += n < 2048 ? 1 : 37) {
    // A copy of exactly n bytes, so that a read beyond it is a read beyond its allocation.
    const std::vector<std::uint8_t> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
    // Only the section headers, at the end, may be missing.
    EXPECT_TRUE(!check(cut) || n > good.size() / 2) << n;
  }
  std::mt19937 random(4);
  for (int i = 0; i < 20000; ++i) {
    auto bad = good;
    for (int changes = 0; changes < 4; ++changes) {
      bad[random() % std::min<std::size_t>(bad.size(), i % 2 ? 1024 : bad.size())] =
          static_cast<std::uint8_t>(random());
    }
    check(bad);
  }
}

}  // namespace
}  // namespace kiln::runtime
