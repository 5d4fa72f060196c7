#include "compiler_core/runtime/elf/elf_check.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

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
  bad[EI_OSABI] = ELFOSABI_GNU;
  EXPECT_EQ(finding(bad), "accepted");
  bad[EI_VERSION] = 2;
  EXPECT_THAT(finding(bad), HasSubstr("unknown ELF version"));
  const auto changed = [&](auto change) { return finding(edited<Elf64_Ehdr>(good, 0, change)); };
  EXPECT_THAT(changed([](Elf64_Ehdr& h) { h.e_version = 2; }), HasSubstr("unknown ELF version"));
  EXPECT_THAT(changed([](Elf64_Ehdr& h) { h.e_phentsize += 8; }), HasSubstr("headers are malformed"));
  EXPECT_THAT(changed([](Elf64_Ehdr& h) { h.e_phnum = 0; }), HasSubstr("headers are malformed"));
  EXPECT_THAT(changed([](Elf64_Ehdr& h) { h.e_phnum = 65; }), HasSubstr("headers are malformed"));
  EXPECT_THAT(changed([](Elf64_Ehdr& h) { h.e_phnum = 64; }), Not(HasSubstr("headers are malformed")));
  for (const std::uint64_t place : {good.size() - 8, good.size(), good.size() + 8, ~std::size_t{0} - 8})
    EXPECT_THAT(changed([&](Elf64_Ehdr& h) { h.e_phoff = place; }),
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
  EXPECT_THAT(changed(PT_LOAD, [](Elf64_Phdr& h) { h.p_vaddr += 0x10000; }), HasSubstr("out of order"));
  EXPECT_THAT(changed(PT_GNU_STACK, [](Elf64_Phdr& h) { h.p_type = PT_NULL; }),
              HasSubstr("does not say that its stack"));
  EXPECT_THAT(changed(PT_GNU_STACK, [](Elf64_Phdr& h) { h.p_type = PT_INTERP; }), HasSubstr("PT_INTERP"));
  EXPECT_THAT(changed(PT_GNU_RELRO, [](Elf64_Phdr& h) { h.p_vaddr = 0; }), HasSubstr("points outside"));
  EXPECT_THAT(changed(PT_DYNAMIC, [](Elf64_Phdr& h) { h.p_type = PT_NULL; }),
              HasSubstr("no dynamic section"));
  EXPECT_THAT(changed(PT_DYNAMIC, [](Elf64_Phdr& h) { h.p_vaddr = ~0ull - 8; }), HasSubstr("points outside"));
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
  EXPECT_EQ(aligned(kMaxSpan), "accepted");
  for (const std::uint64_t to : {std::uint64_t{0}, std::uint64_t{1}, kPage / 2, 3 * kPage, 2 * kMaxSpan})
    EXPECT_THAT(aligned(to), HasSubstr("not aligned")) << to;
}

TEST(ElfCheck, HeadersPointIntoOneSegment) {
  const auto good = program("good");
  const Elf64_Phdr writable = writableSegment(good);
  const auto first = structureAt<Elf64_Phdr>(good, headerOf(good, PT_LOAD));
  const auto with = [&](std::uint32_t type, std::uint64_t address, std::uint64_t bytes) {
    return finding(withHeader(
        good, PT_GNU_RELRO, [&](Elf64_Phdr& h) { h.p_type = type, h.p_vaddr = address, h.p_memsz = bytes; }));
  };
  for (const Elf64_Phdr& load : {first, writable}) {
    const std::uint64_t begin = load.p_vaddr, bytes = load.p_memsz;
    EXPECT_EQ(with(PT_NOTE, begin, bytes), "accepted");
    EXPECT_EQ(with(PT_NOTE, begin + bytes, 0), "accepted");
    EXPECT_THAT(with(PT_NOTE, begin, bytes + 1), HasSubstr("points outside"));
    EXPECT_THAT(with(PT_NOTE, begin + 1, bytes), HasSubstr("points outside"));
    EXPECT_THAT(with(PT_NOTE, begin - 1, bytes), HasSubstr("points outside"));
    EXPECT_THAT(with(PT_NOTE, begin, ~0ull), HasSubstr("points outside"));
  }
  EXPECT_EQ(with(PT_GNU_RELRO, writable.p_vaddr, writable.p_memsz), "accepted");
  EXPECT_THAT(with(PT_GNU_RELRO, first.p_vaddr, 8), HasSubstr("points outside")) << "is not writable";
  // Nobody follows these.
  EXPECT_EQ(with(PT_NULL, ~0ull, 8), "accepted");
  const auto stack = [](Elf64_Phdr& h) { h.p_vaddr = ~0ull, h.p_memsz = 8 << 20; };
  EXPECT_EQ(finding(withHeader(good, PT_GNU_STACK, stack)), "accepted");

  EXPECT_THAT(with(PT_DYNAMIC, first.p_vaddr, 8), HasSubstr("two dynamic sections"));
  EXPECT_THAT(with(PT_TLS, first.p_vaddr, 8), HasSubstr("PT_TLS"));
  EXPECT_THAT(with(0x12345, first.p_vaddr, 8), HasSubstr("unexpected segment type 74565"));
}

TEST(ElfCheck, TheProgramHeadersAreWhereTheySayTheyAre) {
  const auto good = program("good");
  const Elf64_Phdr writable = writableSegment(good);
  const auto changed = [&](auto change) { return finding(withHeader(good, PT_PHDR, change)); };
  EXPECT_EQ(changed([](Elf64_Phdr& h) { h.p_memsz += 1; }), "accepted");
  for (const std::string& message :
       {changed([](Elf64_Phdr& h) { h.p_memsz -= 1; }), changed([](Elf64_Phdr& h) { h.p_vaddr += 8; }),
        changed([](Elf64_Phdr& h) { h.p_vaddr = 0; }),
        // Loaded there, but not from the file.
        changed([&](Elf64_Phdr& h) { h.p_vaddr = writable.p_vaddr + writable.p_memsz - h.p_memsz; })})
    EXPECT_THAT(message, HasSubstr("PT_PHDR is not where the program headers are"));
}

TEST(ElfCheck, RelocationsStayInsideTheProgram) {
  const auto good = program("good");
  const Elf64_Phdr writable = writableSegment(good);
  const std::uint64_t bytes = structureAt<Elf64_Dyn>(good, dynamicOf(good, DT_RELASZ)).d_un.d_val;
  EXPECT_THAT(finding(withDynamic(good, DT_RELASZ, bytes - 1)), HasSubstr("relocations are malformed"));
  EXPECT_THAT(finding(withDynamic(good, DT_RELASZ, 8)), HasSubstr("relocations are malformed"));
  EXPECT_EQ(finding(withDynamic(good, DT_RELASZ, 0)), "accepted");
  EXPECT_THAT(finding(withDynamic(good, DT_RELASZ, sizeof(Elf64_Rela) << 20)),
              HasSubstr("relocations are outside the file"));
  EXPECT_THAT(finding(withDynamic(good, DT_RELA, writable.p_vaddr + writable.p_filesz)),
              HasSubstr("relocations are outside the file"));
  EXPECT_THAT(finding(withDynamic(good, DT_RELAENT, 16)), HasSubstr("unknown size"));
  const auto linked = edited<Elf64_Dyn>(good, dynamicOf(good, DT_RELACOUNT),
                                        [](Elf64_Dyn& entry) { entry.d_tag = DT_JMPREL; });
  EXPECT_THAT(finding(linked), HasSubstr("procedure linkage table"));

  // The first segment begins at the file's start: addresses are offsets there.
  const std::uint64_t place = structureAt<Elf64_Dyn>(good, dynamicOf(good, DT_RELA)).d_un.d_val;
  const auto changed = [&](auto change) { return finding(edited<Elf64_Rela>(good, place, change)); };
  const std::uint64_t last = writable.p_vaddr + writable.p_memsz - 8;
  EXPECT_EQ(changed([&](Elf64_Rela& r) { r.r_offset = writable.p_vaddr; }), "accepted");
  EXPECT_EQ(changed([&](Elf64_Rela& r) { r.r_offset = last; }), "accepted");
  for (const std::uint64_t outside : {last + 1, writable.p_vaddr - 1, std::uint64_t{0}, ~std::uint64_t{0}})
    EXPECT_THAT(changed([&](Elf64_Rela& r) { r.r_offset = outside; }),
                HasSubstr("a relocation is outside its writable segments"));
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
  EXPECT_THAT(finding(withDynamic(good, DT_STRTAB, elsewhere)), HasSubstr("outside the file or too long"));
  EXPECT_THAT(finding(withDynamic(good, DT_SYMENT, 16)), HasSubstr("unknown size"));

  const std::uint64_t table = structureAt<Elf64_Dyn>(good, dynamicOf(good, DT_SYMTAB)).d_un.d_val;
  const std::uint64_t names = structureAt<Elf64_Dyn>(good, dynamicOf(good, DT_STRSZ)).d_un.d_val;
  const std::uint64_t place = table + sizeof(Elf64_Sym);
  ASSERT_EQ(structureAt<Elf64_Sym>(good, place).st_size, sizeof(kiln_program)) << "its only symbol";
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

}  // namespace
}  // namespace kiln::runtime
