#include "compiler_core/runtime/elf/elf_check.h"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "compiler_core/runtime/elf/elf_map.h"
#include "compiler_core/runtime/program_abi.h"

namespace kiln::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kPage = 4096, kMaxSpan = std::uint64_t{1} << 30;

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

template <class T>
T structureAt(const std::vector<std::uint8_t>& file, std::uint64_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

// Changes the structure at an offset.
template <class T, class F>
std::vector<std::uint8_t> edited(std::vector<std::uint8_t> file, std::uint64_t offset, F change) {
  auto value = structureAt<T>(file, offset);
  change(value);
  std::memcpy(file.data() + offset, &value, sizeof value);
  return file;
}

// The offset of the first program header, from the `from`-th on, for which `is` holds.
template <class F>
std::uint64_t headerWhere(const std::vector<std::uint8_t>& file, F is, int from = 0) {
  const auto header = structureAt<Elf64_Ehdr>(file, 0);
  for (int i = from; i < header.e_phnum; ++i) {
    const std::uint64_t at = header.e_phoff + static_cast<std::uint64_t>(i) * sizeof(Elf64_Phdr);
    if (is(structureAt<Elf64_Phdr>(file, at))) return at;
  }
  ADD_FAILURE() << "no such header";
  return header.e_phoff;
}
std::uint64_t headerOf(const std::vector<std::uint8_t>& file, std::uint32_t type) {
  return headerWhere(file, [&](const Elf64_Phdr& entry) { return entry.p_type == type; });
}

// Changes program header fields by type.
template <class F>
std::vector<std::uint8_t> withHeader(const std::vector<std::uint8_t>& file, std::uint32_t type, F change) {
  return edited<Elf64_Phdr>(file, headerOf(file, type), change);
}

// The offset of an entry of the dynamic section.
std::uint64_t dynamicOf(const std::vector<std::uint8_t>& file, std::int64_t tag) {
  const auto segment = structureAt<Elf64_Phdr>(file, headerOf(file, PT_DYNAMIC));
  for (std::uint64_t at = segment.p_offset; at < segment.p_offset + segment.p_filesz; at += sizeof(Elf64_Dyn))
    if (structureAt<Elf64_Dyn>(file, at).d_tag == tag) return at;
  ADD_FAILURE() << "no dynamic entry " << tag;
  return segment.p_offset;
}
std::vector<std::uint8_t> withDynamic(const std::vector<std::uint8_t>& file, std::int64_t tag,
                                      std::uint64_t value) {
  return edited<Elf64_Dyn>(file, dynamicOf(file, tag), [&](Elf64_Dyn& entry) { entry.d_un.d_val = value; });
}

Elf64_Phdr writableSegment(const std::vector<std::uint8_t>& file) {
  return structureAt<Elf64_Phdr>(file, headerWhere(file, [](const Elf64_Phdr& entry) {
                                   return entry.p_type == PT_LOAD && (entry.p_flags & PF_W) != 0;
                                 }));
}
// The end of everything loaded.
std::uint64_t endOf(const std::vector<std::uint8_t>& file) {
  std::uint64_t end = 0;
  const auto header = structureAt<Elf64_Ehdr>(file, 0);
  for (int i = 0; i < header.e_phnum; ++i) {
    const auto entry =
        structureAt<Elf64_Phdr>(file, header.e_phoff + static_cast<std::uint64_t>(i) * sizeof(Elf64_Phdr));
    if (entry.p_type == PT_LOAD) end = std::max(end, entry.p_vaddr + entry.p_memsz);
  }
  return end;
}

TEST(ElfCheck, AcceptsWhatKilnLinks) {
  for (const char* name : {"good", "wrong_abi"}) {
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
  EXPECT_THAT(finding(program("sysv_hash")), HasSubstr("DT_HASH"));
  EXPECT_THAT(finding(program("soname")), HasSubstr("DT_SONAME"));
  EXPECT_THAT(finding(program("build_id")), HasSubstr("the unexpected segment type 4")) << "PT_NOTE";
  EXPECT_THAT(finding(program("packed_relocations")), HasSubstr("the unexpected dynamic tag 36"))
      << "DT_RELR";
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

// A program for RISC-V says in one more header what it was compiled for, in a part of the file that is not
// loaded.
TEST(ElfCheck, RiscVHasAHeaderOfItsOwn) {
  const auto good = program("riscv");
  const auto of = [](Bytes file, ElfMachine machine) {
    const auto image = checkElf(file, machine, KILN_PROGRAM_SYMBOL, sizeof(kiln_program));
    return image ? "accepted" : image.error().message;
  };
  EXPECT_EQ(of(good, ElfMachine::kRiscV), "accepted");
  EXPECT_THAT(finding(good), HasSubstr("the program is for RISC-V, this machine is x86-64"));
  constexpr std::uint32_t kAttributes = 0x70000003;
  EXPECT_NE(headerOf(good, kAttributes), 0u);
  const auto twice = edited<Elf64_Phdr>(good, headerOf(good, PT_GNU_RELRO),
                                        [](Elf64_Phdr& entry) { entry.p_type = kAttributes; });
  EXPECT_THAT(of(twice, ElfMachine::kRiscV), HasSubstr("two headers of type 1879048195"));
  auto claimed = good;
  claimed[18] = EM_X86_64;
  claimed[19] = 0;
  EXPECT_THAT(finding(claimed), HasSubstr("the unexpected segment type 1879048195"));
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
  bad[EI_OSABI] = ELFOSABI_GNU;
  EXPECT_THAT(finding(bad), HasSubstr("IFUNC"));
  for (int i = EI_ABIVERSION; i < EI_NIDENT; ++i) {
    bad = good;
    bad[static_cast<std::size_t>(i)] = 1;
    EXPECT_THAT(finding(bad), HasSubstr("another operating system")) << i << ": the loader refuses it";
  }
  bad[EI_VERSION] = 2;
  EXPECT_THAT(finding(bad), HasSubstr("unknown ELF version"));
  const auto changed = [&](auto change) { return finding(edited<Elf64_Ehdr>(good, 0, change)); };
  EXPECT_THAT(changed([](Elf64_Ehdr& h) { h.e_version = 2; }), HasSubstr("unknown ELF version"));
  EXPECT_THAT(changed([](Elf64_Ehdr& h) { h.e_phentsize += 8; }), HasSubstr("headers are malformed"));
  EXPECT_THAT(changed([](Elf64_Ehdr& h) { h.e_phnum = 0; }), HasSubstr("headers are malformed"));
  EXPECT_THAT(changed([](Elf64_Ehdr& h) { h.e_phnum = 65; }), HasSubstr("headers are malformed"));
  EXPECT_THAT(changed([](Elf64_Ehdr& h) { h.e_phnum = 64; }), Not(HasSubstr("headers are malformed")));
  for (const std::uint64_t place : {std::size_t{0}, sizeof(Elf64_Ehdr) + 8, good.size(), ~std::size_t{0} - 8})
    EXPECT_THAT(changed([&](Elf64_Ehdr& h) { h.e_phoff = place; }), HasSubstr("headers are malformed"));
  EXPECT_THAT(finding(Bytes(good).first(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) - 1)),
              HasSubstr("headers are outside the file"));
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
  for (const std::uint64_t by : {kPage, 2 * kPage}) {
    EXPECT_THAT(changed(PT_LOAD, [&](Elf64_Phdr& h) { h.p_vaddr += by; }),
                HasSubstr("not the file's beginning"));
    EXPECT_THAT(changed(PT_LOAD, [&](Elf64_Phdr& h) { h.p_offset += by, h.p_filesz = 8; }),
                HasSubstr("not the file's beginning"));
  }
  EXPECT_THAT(changed(PT_GNU_STACK, [](Elf64_Phdr& h) { h.p_type = PT_GNU_RELRO; }),
              HasSubstr("two headers"));
  EXPECT_THAT(changed(PT_GNU_STACK, [](Elf64_Phdr& h) { h.p_type = PT_INTERP; }), HasSubstr("PT_INTERP"));
  EXPECT_THAT(changed(PT_GNU_RELRO, [](Elf64_Phdr& h) { h.p_vaddr = 0; }), HasSubstr("points outside"));
  EXPECT_THAT(changed(PT_DYNAMIC, [](Elf64_Phdr& h) { h.p_vaddr = ~0ull - 8; }), HasSubstr("points outside"));
}

TEST(ElfCheck, SegmentsHaveTheRightsThatTheLinkerGives) {
  const auto good = program("good");
  const auto isLoad = [](const Elf64_Phdr& entry) { return entry.p_type == PT_LOAD; };
  const std::uint64_t first = headerWhere(good, isLoad);
  for (std::uint64_t at = first; isLoad(structureAt<Elf64_Phdr>(good, at)); at += sizeof(Elf64_Phdr)) {
    for (const std::uint32_t flags :
         {0u, std::uint32_t{PF_W}, std::uint32_t{PF_X}, PF_R | 8u, std::uint32_t{PF_MASKOS} | PF_R}) {
      EXPECT_THAT(finding(edited<Elf64_Phdr>(good, at, [&](Elf64_Phdr& h) { h.p_flags = flags; })),
                  HasSubstr("unexpected access rights"))
          << at << " " << flags;
    }
  }
  for (const std::uint32_t flags : {PF_R | PF_W, PF_R | PF_X}) {
    EXPECT_THAT(finding(edited<Elf64_Phdr>(good, first, [&](Elf64_Phdr& h) { h.p_flags = flags; })),
                HasSubstr("only to be read"))
        << "the loader keeps using the headers in it";
  }
}

// One more segment than the linker made, in the place of the header that says what becomes read-only.
TEST(ElfCheck, SegmentsEndWithTheFileAndTheirPages) {
  auto good = program("good");
  good.resize((good.size() + kPage - 1) / kPage * kPage);
  const std::uint64_t size = good.size(), next = (endOf(good) + kPage - 1) / kPage * kPage;
  const auto with = [&](auto change) {
    return finding(withHeader(good, PT_GNU_RELRO, [&](Elf64_Phdr& h) {
      h = {PT_LOAD, PF_R | PF_W, size, next, next, 0, kPage, kPage};
      change(h);
    }));
  };
  EXPECT_EQ(with([](Elf64_Phdr&) {}), "accepted");
  EXPECT_THAT(with([](Elf64_Phdr& h) { h.p_offset += kPage; }), HasSubstr("outside the file"));
  EXPECT_THAT(with([](Elf64_Phdr& h) { h.p_filesz = 1; }), HasSubstr("outside the file"));
  const auto inFile = [&](std::uint64_t bytes, std::uint64_t memory) {
    return with([&](Elf64_Phdr& h) { h.p_offset -= kPage, h.p_filesz = bytes, h.p_memsz = memory; });
  };
  EXPECT_EQ(inFile(kPage, kPage), "accepted");
  EXPECT_THAT(inFile(kPage + 1, 2 * kPage), HasSubstr("outside the file"));
  EXPECT_THAT(inFile(2, 1), HasSubstr("outside the file"));
  const auto ofMemory = [&](std::uint64_t bytes) { return with([&](Elf64_Phdr& h) { h.p_memsz = bytes; }); };
  EXPECT_THAT(ofMemory(0), HasSubstr("no sane size"));
  EXPECT_EQ(ofMemory(1), "accepted");
  EXPECT_EQ(ofMemory(kMaxSpan), "accepted");
  EXPECT_THAT(ofMemory(kMaxSpan + 1), HasSubstr("no sane size"));
  const auto at = [&](std::uint64_t place) { return with([&](Elf64_Phdr& h) { h.p_vaddr = place; }); };
  EXPECT_EQ(at(kMaxSpan), "accepted");
  EXPECT_THAT(at(kMaxSpan + kPage), HasSubstr("no sane size"));
  EXPECT_THAT(at(next + 8), HasSubstr("not aligned"));
  EXPECT_THAT(at(next - kPage), HasSubstr("share a page or are out of order"));
  EXPECT_THAT(at(0), HasSubstr("share a page or are out of order"));
  const auto aligned = [&](std::uint64_t to) {
    return with([&](Elf64_Phdr& h) { h.p_align = to, h.p_vaddr = kMaxSpan, h.p_offset = 0; });
  };
  EXPECT_EQ(aligned(kPage), "accepted");
  EXPECT_THAT(aligned(65536), HasSubstr("pages of different sizes"));
  for (const std::uint64_t to :
       {std::uint64_t{0}, std::uint64_t{1}, kPage / 2, 2 * kPage, 3 * kPage, kMaxSpan})
    EXPECT_THAT(aligned(to), HasSubstr("not aligned")) << to;
}

TEST(ElfCheck, HeadersPointIntoOneSegment) {
  const auto good = program("good");
  const Elf64_Phdr writable = writableSegment(good);
  const auto first = structureAt<Elf64_Phdr>(good, headerOf(good, PT_LOAD));
  const auto with = [&](auto change) { return finding(withHeader(good, PT_GNU_RELRO, change)); };
  const auto at = [&](std::uint64_t address, std::uint64_t bytes) {
    return with([&](Elf64_Phdr& h) {
      h.p_offset += address - h.p_vaddr, h.p_vaddr = address, h.p_filesz = 0, h.p_memsz = bytes;
    });
  };
  const std::uint64_t begin = writable.p_vaddr, bytes = writable.p_memsz;
  EXPECT_EQ(at(begin, bytes), "accepted");
  EXPECT_EQ(at(begin + 8, bytes - 8), "accepted");
  EXPECT_THAT(at(begin, bytes + 1), HasSubstr("points outside"));
  EXPECT_THAT(at(begin + 1, bytes), HasSubstr("points outside"));
  EXPECT_THAT(at(begin - 1, bytes), HasSubstr("points outside"));
  EXPECT_THAT(at(begin, ~0ull), HasSubstr("points outside"));
  EXPECT_THAT(at(first.p_vaddr, 8), HasSubstr("points outside")) << "is not writable";
  EXPECT_THAT(with([](Elf64_Phdr& h) { h.p_offset += 8; }), HasSubstr("points outside"))
      << "another place in the file than in memory";
  // Nobody follows this one.
  const auto stack = [](Elf64_Phdr& h) { h.p_vaddr = ~0ull, h.p_memsz = 8 << 20; };
  EXPECT_EQ(finding(withHeader(good, PT_GNU_STACK, stack)), "accepted");

  const auto section = [&](auto change) { return finding(withHeader(good, PT_DYNAMIC, change)); };
  EXPECT_THAT(section([](Elf64_Phdr& h) { h.p_vaddr = h.p_offset = 64; }), HasSubstr("points outside"))
      << "the loader writes there";
  EXPECT_THAT(section([](Elf64_Phdr& h) { h.p_flags = PF_R; }), HasSubstr("not writable, not aligned"));
  EXPECT_THAT(
      section([](Elf64_Phdr& h) { h.p_vaddr += 4, h.p_offset += 4, h.p_filesz -= 16, h.p_memsz -= 16; }),
      HasSubstr("not writable, not aligned"));
  EXPECT_THAT(section([](Elf64_Phdr& h) { h.p_filesz = 0; }), HasSubstr("not in the file"));
}

// glibc reads notes and properties beyond their end, and takes the last of two headers of a type.
TEST(ElfCheck, RefusesHeadersThatTheLinkerNeverWrites) {
  const auto good = program("good");
  const auto as = [&](std::uint32_t type) {
    return finding(withHeader(good, PT_GNU_RELRO, [&](Elf64_Phdr& h) { h.p_type = type; }));
  };
  for (const std::uint32_t type :
       {std::uint32_t{PT_NULL}, std::uint32_t{PT_NOTE}, std::uint32_t{PT_SHLIB},
        std::uint32_t{PT_GNU_EH_FRAME}, std::uint32_t{PT_GNU_PROPERTY}, std::uint32_t{0x12345}})
    EXPECT_THAT(as(type), HasSubstr("unexpected segment type " + std::to_string(type)));
  for (const std::uint32_t type :
       {std::uint32_t{PT_PHDR}, std::uint32_t{PT_DYNAMIC}, std::uint32_t{PT_GNU_STACK}})
    EXPECT_THAT(
        finding(withHeader(withHeader(good, PT_GNU_STACK, [](Elf64_Phdr& h) { h.p_flags = PF_R | PF_W; }),
                           PT_GNU_RELRO, [&](Elf64_Phdr& h) { h.p_type = type; })),
        HasSubstr("two headers of type " + std::to_string(type)));
  EXPECT_THAT(as(PT_TLS), HasSubstr("PT_TLS"));
  // Each of the three that it must have, made the one that it may lack.
  auto bare = good;
  const std::uint64_t relro = headerOf(good, PT_GNU_RELRO);
  for (const std::uint32_t type :
       {std::uint32_t{PT_PHDR}, std::uint32_t{PT_DYNAMIC}, std::uint32_t{PT_GNU_STACK}}) {
    bare = good;
    std::memcpy(bare.data() + headerOf(good, type), good.data() + relro, sizeof(Elf64_Phdr));
    bare = edited<Elf64_Phdr>(bare, relro, [&](Elf64_Phdr& h) {
      h = {PT_LOAD, PF_R | PF_W, 0, kMaxSpan, kMaxSpan, 0, kPage, kPage};
    });
    EXPECT_THAT(finding(bare), HasSubstr(type == PT_PHDR      ? "(PT_PHDR)"
                                         : type == PT_DYNAMIC ? "no dynamic section"
                                                              : "(PT_GNU_STACK)"));
  }
}

TEST(ElfCheck, TheProgramHeadersAreWhereTheySayTheyAre) {
  const auto good = program("good");
  const auto changed = [&](auto change) { return finding(withHeader(good, PT_PHDR, change)); };
  for (const std::string& message : {changed([](Elf64_Phdr& h) { h.p_memsz -= 1; }),
                                     changed([](Elf64_Phdr& h) { h.p_vaddr += 8, h.p_offset += 8; }),
                                     changed([](Elf64_Phdr& h) { h.p_vaddr = h.p_offset = 0; })})
    EXPECT_THAT(message, HasSubstr("PT_PHDR is not where the program headers are"));
}

// glibc takes the partners of an entry for granted: the first of these end the process by a signal.
TEST(ElfCheck, TheDynamicSectionHoldsEachEntryOnceAndNoOther) {
  const auto good = program("good");
  const auto segment = structureAt<Elf64_Phdr>(good, headerOf(good, PT_DYNAMIC));
  const std::uint64_t end = dynamicOf(good, DT_NULL);
  for (std::uint64_t at = segment.p_offset; at < end; at += sizeof(Elf64_Dyn)) {
    const auto entry = structureAt<Elf64_Dyn>(good, at);
    auto without = good;
    std::copy(good.begin() + static_cast<std::ptrdiff_t>(at + sizeof(Elf64_Dyn)),
              good.begin() + static_cast<std::ptrdiff_t>(end + sizeof(Elf64_Dyn)),
              without.begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_THAT(finding(without), HasSubstr("it has no DT_")) << entry.d_tag;
    for (std::uint64_t other = segment.p_offset; other < end; other += sizeof(Elf64_Dyn)) {
      if (other == at) continue;
      EXPECT_THAT(finding(edited<Elf64_Dyn>(good, other, [&](Elf64_Dyn& twice) { twice = entry; })),
                  HasSubstr("it has two DT_"))
          << entry.d_tag;
    }
  }
  const auto known = [&](std::int64_t tag) {
    for (std::uint64_t at = segment.p_offset; at <= end; at += sizeof(Elf64_Dyn))
      if (structureAt<Elf64_Dyn>(good, at).d_tag == tag) return true;
    return false;
  };
  // Every tag of the ABI, of GNU and of the processors.
  const auto refuses = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t tag = from; tag <= to; ++tag) {
      if (known(tag)) continue;
      const auto message = finding(edited<Elf64_Dyn>(good, dynamicOf(good, DT_RELACOUNT),
                                                     [&](Elf64_Dyn& entry) { entry.d_tag = tag; }));
      EXPECT_NE(message, "accepted") << tag;
      EXPECT_THAT(message, Not(HasSubstr("it has no DT_"))) << tag;
    }
  };
  refuses(1, 64);
  refuses(DT_GNU_PRELINKED - 16, DT_VERNEEDNUM + 16);
  refuses(DT_LOPROC, DT_LOPROC + 16);
  refuses(DT_HIPROC - 16, DT_HIPROC);
  EXPECT_THAT(finding(withDynamic(good, DT_FLAGS, DF_SYMBOLIC | DF_BIND_NOW | DF_ORIGIN)),
              HasSubstr("DT_FLAGS"));
  EXPECT_THAT(finding(withDynamic(good, DT_FLAGS, DF_STATIC_TLS)), HasSubstr("DF_STATIC_TLS"));
  EXPECT_THAT(finding(withDynamic(good, DT_FLAGS_1, DF_1_NOW | DF_1_NODELETE)), HasSubstr("DT_FLAGS_1"))
      << "it would stay mapped";
}

TEST(ElfCheck, RelocationsStayInsideTheProgram) {
  const auto good = program("good");
  const Elf64_Phdr writable = writableSegment(good);
  const std::uint64_t bytes = structureAt<Elf64_Dyn>(good, dynamicOf(good, DT_RELASZ)).d_un.d_val;
  EXPECT_THAT(finding(withDynamic(good, DT_RELASZ, bytes - 1)), HasSubstr("relocations are malformed"));
  EXPECT_THAT(finding(withDynamic(good, DT_RELASZ, 8)), HasSubstr("relocations are malformed"));
  EXPECT_EQ(finding(withDynamic(withDynamic(good, DT_RELASZ, 0), DT_RELACOUNT, 0)), "accepted");
  EXPECT_THAT(finding(withDynamic(good, DT_RELASZ, sizeof(Elf64_Rela) << 20)),
              HasSubstr("relocations are outside the file"));
  EXPECT_THAT(finding(withDynamic(good, DT_RELA, writable.p_vaddr + writable.p_filesz)),
              HasSubstr("relocations are outside the file"));
  EXPECT_THAT(finding(withDynamic(good, DT_RELA, writable.p_vaddr)), HasSubstr("or writable"))
      << "one could change the next";
  EXPECT_THAT(finding(withDynamic(good, DT_RELAENT, 16)), HasSubstr("unknown size"));
  for (const std::uint64_t count :
       {std::uint64_t{0}, bytes / sizeof(Elf64_Rela) - 1, bytes / sizeof(Elf64_Rela) + 1,
        std::uint64_t{1000000}, ~std::uint64_t{0}})
    EXPECT_THAT(finding(withDynamic(good, DT_RELACOUNT, count)), HasSubstr("DT_RELACOUNT is not the number"));

  // The first segment begins at the file's start: addresses are offsets there.
  const std::uint64_t place = structureAt<Elf64_Dyn>(good, dynamicOf(good, DT_RELA)).d_un.d_val;
  const auto changed = [&](auto change) { return finding(edited<Elf64_Rela>(good, place, change)); };
  const std::uint64_t last = writable.p_vaddr + writable.p_memsz - 8;
  EXPECT_EQ(changed([&](Elf64_Rela& r) { r.r_offset = writable.p_vaddr; }), "accepted");
  EXPECT_EQ(changed([&](Elf64_Rela& r) { r.r_offset = last; }), "accepted");
  for (const std::uint64_t outside : {last + 1, writable.p_vaddr - 1, std::uint64_t{0}, ~std::uint64_t{0}})
    EXPECT_THAT(changed([&](Elf64_Rela& r) { r.r_offset = outside; }),
                HasSubstr("a relocation is outside its writable segments"));
  const auto section = structureAt<Elf64_Phdr>(good, headerOf(good, PT_DYNAMIC));
  for (const std::uint64_t inside :
       {section.p_vaddr - 7, section.p_vaddr, section.p_vaddr + section.p_memsz - 1})
    EXPECT_THAT(changed([&](Elf64_Rela& r) { r.r_offset = inside; }),
                HasSubstr("a relocation changes the dynamic section"));
  for (const std::uint64_t beside : {section.p_vaddr - 8, section.p_vaddr + section.p_memsz})
    EXPECT_EQ(changed([&](Elf64_Rela& r) { r.r_offset = beside; }), "accepted");
  const auto end = static_cast<std::int64_t>(endOf(good));
  EXPECT_EQ(changed([&](Elf64_Rela& r) { r.r_addend = end; }), "accepted");
  for (const std::int64_t outside : {end + 1, std::int64_t{-1}, INT64_MIN, INT64_MAX})
    EXPECT_THAT(changed([&](Elf64_Rela& r) { r.r_addend = outside; }),
                HasSubstr("a relocation points outside the program"));
  EXPECT_THAT(changed([](Elf64_Rela& r) { r.r_info = ELF64_R_INFO(1, R_X86_64_RELATIVE); }),
              HasSubstr("only relative ones"));
  EXPECT_THAT(changed([](Elf64_Rela& r) { r.r_info = ELF64_R_INFO(0, R_X86_64_64); }),
              HasSubstr("a relocation of type 1"));
  EXPECT_THAT(changed([](Elf64_Rela& r) { r.r_info = ELF64_R_INFO(0, R_X86_64_IRELATIVE); }),
              HasSubstr("indirect functions"));
}

TEST(ElfCheck, SymbolsAreWholeAndHarmless) {
  const auto good = program("good");
  const Elf64_Phdr writable = writableSegment(good);
  // Loaded there, but not from the file.
  const std::uint64_t elsewhere = writable.p_vaddr + writable.p_memsz - 256;
  EXPECT_THAT(finding(withDynamic(good, DT_SYMTAB, elsewhere)), HasSubstr("symbols are outside the file"));
  EXPECT_THAT(finding(withDynamic(good, DT_STRTAB, elsewhere)), HasSubstr("names are outside the file"));
  for (const auto& [tag, what] : {std::pair{DT_SYMTAB, "symbols are"}, std::pair{DT_STRTAB, "names are"}})
    EXPECT_THAT(finding(withDynamic(good, tag, writable.p_vaddr)),
                HasSubstr(what + std::string(" outside the file or writable")));
  EXPECT_THAT(finding(withDynamic(good, DT_SYMENT, 16)), HasSubstr("unknown size"));

  const std::uint64_t table = structureAt<Elf64_Dyn>(good, dynamicOf(good, DT_SYMTAB)).d_un.d_val;
  const std::uint64_t names = structureAt<Elf64_Dyn>(good, dynamicOf(good, DT_STRSZ)).d_un.d_val;
  const std::uint64_t place = table + sizeof(Elf64_Sym);
  ASSERT_EQ(structureAt<Elf64_Sym>(good, place).st_size, sizeof(kiln_program)) << "its only symbol";
  EXPECT_THAT(finding(withDynamic(good, DT_STRSZ, 0)), HasSubstr("names are outside the file"));
  EXPECT_THAT(finding(withDynamic(good, DT_STRSZ, names - 1)), HasSubstr("names do not end with NUL"));
  const auto changed = [&](auto change) { return finding(edited<Elf64_Sym>(good, place, change)); };
  const auto named = [](unsigned type) {
    return [type](Elf64_Sym& s) { s.st_info = ELF64_ST_INFO(STB_GLOBAL, type); };
  };
  EXPECT_THAT(changed([&](Elf64_Sym& s) { s.st_name = static_cast<Elf64_Word>(names); }),
              HasSubstr("a symbol's name is outside the file"));
  EXPECT_THAT(changed([&](Elf64_Sym& s) { s.st_name = 0; }), HasSubstr("does not export"));
  EXPECT_THAT(changed([](Elf64_Sym& s) { s.st_shndx = SHN_UNDEF; }), HasSubstr("kiln_program is undefined"));
  EXPECT_THAT(changed(named(STT_GNU_IFUNC)), HasSubstr("kiln_program is an indirect function"));
  EXPECT_THAT(changed(named(STT_TLS)), HasSubstr("kiln_program is thread-local"));
  EXPECT_THAT(changed(named(STT_FUNC)), HasSubstr("does not export the data symbol"));
  EXPECT_THAT(changed([](Elf64_Sym& s) { --s.st_size; }), HasSubstr("does not export the data symbol"));
  EXPECT_EQ(changed([](Elf64_Sym& s) { ++s.st_size; }), "accepted");

  const std::uint64_t last = writable.p_vaddr + writable.p_memsz - sizeof(kiln_program);
  EXPECT_EQ(changed([&](Elf64_Sym& s) { s.st_value = last; }), "accepted");
  for (const std::uint64_t wrong : {last + 8, last - 4, last + 4, endOf(good) + 8, ~std::uint64_t{7}})
    EXPECT_THAT(changed([&](Elf64_Sym& s) { s.st_value = wrong; }),
                HasSubstr("kiln_program is outside its segments"));
}

TEST(ElfCheck, TheHashTableIsWhole) {
  const auto good = program("good");
  const std::uint64_t place = structureAt<Elf64_Dyn>(good, dynamicOf(good, DT_GNU_HASH)).d_un.d_val;
  // Buckets, first symbol, words of the filter, shift; two words of the filter, the bucket, the chain.
  ASSERT_EQ(structureAt<std::uint32_t>(good, place), 1u);
  ASSERT_EQ(structureAt<std::uint32_t>(good, place + 8), 1u);
  const auto with = [&](std::uint64_t word, std::uint32_t value) {
    return finding(edited<std::uint32_t>(good, place + 4 * word, [&](std::uint32_t& w) { w = value; }));
  };
  for (const std::uint32_t many : {0x10000u, ~0u}) EXPECT_THAT(with(0, many), HasSubstr("DT_GNU_HASH"));
  EXPECT_THAT(with(0, 0), HasSubstr("holds no symbol"));
  EXPECT_THAT(with(1, 2), HasSubstr("inconsistent")) << "the loader would read before the chains";
  EXPECT_THAT(with(2, 0), HasSubstr("inconsistent"));
  EXPECT_THAT(with(2, 3), HasSubstr("inconsistent"));
  EXPECT_THAT(with(2, 1u << 30), HasSubstr("DT_GNU_HASH"));
  EXPECT_THAT(with(3, 32), HasSubstr("inconsistent"));
  EXPECT_THAT(with(6, 0), HasSubstr("holds no symbol"));
  EXPECT_THAT(with(6, 1u << 20), HasSubstr("outside the file"));
  EXPECT_THAT(finding(withDynamic(good, DT_GNU_HASH, writableSegment(good).p_vaddr)),
              HasSubstr("DT_GNU_HASH"));
}

TEST(ElfImage, ContainsWhatOneSegmentHolds) {
  const ElfImage image{{{0x1000, 0x100, false, true}, {0x2000, 0x200, true, false}}, 0};
  for (const ElfSegment& segment : image.segments) {
    const std::uint64_t begin = segment.address, bytes = segment.bytes;
    EXPECT_TRUE(image.contains(begin, bytes, false));
    EXPECT_TRUE(image.contains(begin + bytes - 1, 1, false));
    EXPECT_TRUE(image.contains(begin + bytes, 0, false));
    EXPECT_FALSE(image.contains(begin, bytes + 1, false));
    EXPECT_FALSE(image.contains(begin + bytes, 1, false));
    EXPECT_FALSE(image.contains(begin - 1, 1, false));
    EXPECT_FALSE(image.contains(begin - 1, bytes, false));
    EXPECT_FALSE(image.contains(begin, ~std::uint64_t{0}, false));
    EXPECT_EQ(image.contains(begin, bytes, true), segment.executable);
    EXPECT_EQ(image.contains(begin + bytes - 1, 1, true), segment.executable);
  }
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

// What the system's loader does with a program, and with its symbols for a debugger.
void loadAndUnload(Bytes file) {
  const int memory = ::memfd_create("mutant", MFD_CLOEXEC);
  if (memory < 0 || ::write(memory, file.data(), file.size()) != static_cast<ssize_t>(file.size()))
    ::_exit(2);
  void* const handle = ::dlopen(("/proc/self/fd/" + std::to_string(memory)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    ::_exit(3);
  }
  link_map* map = nullptr;
  Dl_info info;
  ::dlsym(handle, "another");
  ::dlsym(handle, KILN_PROGRAM_SYMBOL);
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) ::dladdr(map->l_ld, &info);
  ::dlclose(handle);
  ::close(memory);
  (void)MappedElf::map(file, KILN_PROGRAM_SYMBOL, sizeof(kiln_program));
}

// A few fields of the headers, the dynamic section or the tables become others: near what they were, one of
// the file's own numbers, or any.
std::vector<std::uint8_t> mutant(std::vector<std::uint8_t> file, std::mt19937& random) {
  const auto first = structureAt<Elf64_Phdr>(file, headerOf(file, PT_LOAD));
  const auto section = structureAt<Elf64_Phdr>(file, headerOf(file, PT_DYNAMIC));
  const std::uint64_t relocated = writableSegment(file).p_offset;
  const auto anyOf = [&](std::uint64_t begin, std::uint64_t bytes) {
    return begin + random() % (bytes / 4) * 4;
  };
  const auto place = [&] {
    switch (random() % 4) {
      case 0:
        return anyOf(section.p_offset, section.p_filesz);
      case 1:
        return anyOf(relocated, section.p_offset - relocated);
      default:  // ELF header, program headers, symbols, hash table, names, relocations
        return anyOf(0, first.p_filesz);
    }
  };
  for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
    const std::uint64_t at = place();
    auto word = structureAt<std::uint32_t>(file, at);
    switch (random() % 4) {
      case 0:
        word += static_cast<std::uint32_t>(random() % 64) - 32;
        break;
      case 1:
        word = structureAt<std::uint32_t>(file, place());
        break;
      case 2:
        word ^= 1u << random() % 32;
        break;
      default:
        word = static_cast<std::uint32_t>(random());
    }
    std::memcpy(file.data() + at, &word, sizeof word);
  }
  return file;
}

// Whatever the checks accept, the loader takes without a word: no signal, no assertion, no refusal.
TEST(ElfCheck, WhatIsAcceptedLoads) {
  const auto good = program("good");
  auto* const at =
      static_cast<int*>(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(at, MAP_FAILED);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(120);
    std::mt19937 random(5);
    int loaded = 0;
    for (at[0] = 0; at[0] < 20000; ++at[0]) {
      const auto bad = mutant(good, random);
      if (!check(bad)) continue;
      loadAndUnload(bad);
      ++loaded;
    }
    ::_exit(loaded > 100 ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << " by mutant " << at[0];
  EXPECT_EQ(WEXITSTATUS(status), 0) << "mutant " << at[0]
                                    << " (3: refused by the loader; 4: hardly any accepted)";
  ::munmap(at, kPage);
}

}  // namespace
}  // namespace kiln::runtime
