// Where two directories of outputs differ.
#include "api/diff/compare.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "api/diff/elf.h"
#include "tests/support/temp_directory.h"

namespace kiln::diff {
namespace {

namespace fs = std::filesystem;

// A minimal ELF: .text with two functions of 8 bytes, .symtab, .strtab, .shstrtab.
std::string sampleElf(const std::string& text = "aaaaaaaabbbbbbbb") {
  const std::string strings("\0first\0second\0", 14), names("\0.text\0.symtab\0.strtab\0.shstrtab\0", 33);
  std::vector<Elf64_Sym> symbols(3);
  symbols[1] = {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x1000, 8};
  symbols[2] = {7, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x1008, 8};
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 5;
  header.e_shstrndx = 4;
  std::string out(sizeof header, '\0');
  std::vector<Elf64_Shdr> sections(5);
  const auto add = [&](std::size_t index, std::uint32_t name, std::uint32_t type, std::string_view bytes) {
    sections[index].sh_name = name;
    sections[index].sh_type = type;
    sections[index].sh_offset = out.size();
    sections[index].sh_size = bytes.size();
    out += bytes;
  };
  add(1, 1, SHT_PROGBITS, text);
  sections[1].sh_addr = 0x1000;
  add(2, 7, SHT_SYMTAB, {reinterpret_cast<const char*>(symbols.data()), symbols.size() * sizeof(Elf64_Sym)});
  sections[2].sh_link = 3;
  add(3, 15, SHT_STRTAB, strings);
  add(4, 23, SHT_STRTAB, names);
  header.e_shoff = out.size();
  out.append(reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

TEST(Elf, SectionsAndSymbols) {
  const std::string file = sampleElf();
  const auto elf = readElf(file);
  ASSERT_TRUE(elf) << elf.error().message;
  ASSERT_TRUE(elf->section(".text"));
  EXPECT_EQ(elf->section(".text")->bytes, "aaaaaaaabbbbbbbb");
  EXPECT_EQ(elf->symbolAt(1, 7)->name, "first");
  EXPECT_EQ(elf->symbolAt(1, 8)->name, "second");
  EXPECT_EQ(elf->symbolAt(1, 16), nullptr);
}

TEST(Elf, TruncatedAndMutatedFilesAreRefusedOrRead) {
  const std::string file = sampleElf();
  for (std::size_t size = 0; size < file.size(); ++size)
    (void)readElf(std::string_view(file).substr(0, size));
  EXPECT_FALSE(readElf(std::string_view(file).substr(0, file.size() - 1)));
  for (std::size_t at = 0; at < file.size(); ++at)
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string mutated = file;
      mutated[at] = value;
      if (const auto elf = readElf(mutated))
        for (std::size_t i = 0; i < elf->sections.size(); ++i) (void)elf->symbolAt(i, 3);
    }
}

// Many sections of one byte each and, in the one after them, symbols that all cover all of it.
std::string manySections(std::size_t count, char byte, std::size_t symbolCount = 0,
                         bool overlapping = false) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> sections(count + 4);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shstrndx = 1;
  header.e_shoff = sizeof header;
  const std::uint64_t data = sizeof header + sections.size() * sizeof(Elf64_Shdr);
  sections[0].sh_size = sections.size();  // more than the header can say
  for (std::size_t i = 0; i < count; ++i) {
    Elf64_Shdr& section = sections[i + 4];
    section.sh_name = static_cast<Elf64_Word>(names.size());
    names += "s" + std::to_string(i) + '\0';
    section.sh_type = SHT_PROGBITS;
    section.sh_offset = overlapping ? 0 : data + i;
    section.sh_size = overlapping ? data : 1;
  }
  std::vector<Elf64_Sym> symbols(symbolCount,
                                 {0, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0, names.size()});
  const std::uint64_t table = symbols.size() * sizeof(Elf64_Sym);
  sections[1].sh_type = sections[3].sh_type = SHT_STRTAB;
  sections[1].sh_offset = data + count;
  sections[1].sh_size = names.size();
  sections[2].sh_type = SHT_SYMTAB;
  sections[2].sh_link = 1;
  sections[2].sh_offset = data + count + names.size();
  sections[2].sh_size = table;
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
  out += std::string(count, byte) + names;
  return out.append(reinterpret_cast<const char*>(symbols.data()), table);
}

// Comparing takes a time that grows with the file.
TEST(Elf, SectionsAndSymbolsDoNotOverlap) {
  EXPECT_TRUE(readElf(manySections(1000, 'a', 16)));
  const auto symbols = readElf(manySections(1000, 'a', 10'000));
  ASSERT_FALSE(symbols);
  EXPECT_NE(symbols.error().message.find("its symbols overlap"), std::string::npos);
  const auto sections = readElf(manySections(1000, 'a', 0, true));
  ASSERT_FALSE(sections);
  EXPECT_NE(sections.error().message.find("its sections overlap"), std::string::npos);
}

TEST(Elf, NamesAreShort) {
  std::string file = manySections(1, 'a');
  const std::size_t name = file.find(std::string("s0\0", 3));
  file.insert(name, 4094, 'x');
  Elf64_Shdr names;
  const std::size_t place = sizeof(Elf64_Ehdr) + sizeof names;
  std::memcpy(&names, file.data() + place, sizeof names);
  names.sh_size += 4094;
  std::memcpy(file.data() + place, &names, sizeof names);
  EXPECT_TRUE(readElf(file)) << "4096 characters";
  file.insert(name, 1, 'x');
  ++names.sh_size;
  std::memcpy(file.data() + place, &names, sizeof names);
  EXPECT_FALSE(readElf(file));
}

struct CompareTest : ::testing::Test {
  testing_support::TempDirectory directory;

  void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(directory / name).parent_path());
    std::ofstream(directory / name, std::ios::binary) << text;
  }
  void SetUp() override {
    for (const char* side : {"a", "b"}) {
      write(
          std::string(side) + "/manifest.json",
          R"({"spec":{"target":"t"},"stages":{"schedule":{"kernels":[{"symbol":"second","nodes":["conv1"]}]}}})");
      write(std::string(side) + "/program.so", sampleElf());
      write(std::string(side) + "/weights/0000.bin", "weights");
    }
  }
  Differences diff() { return compare({"a", directory / "a"}, {"b", directory / "b"}).value(); }
  void trace(const char* side, const char* last, const char* function) {
    write(
        std::string(side) + "/passes.json",
        std::string(R"({"apiVersion":"kiln/v1","kind":"PassTrace","passes":[)") +
            R"({"pass":"one","scope":"","ir":"x","functions":[{"name":"f","ir":"1"},{"name":"g","ir":"2"}]},)" +
            R"({"pass":"two","scope":"","ir":")" + last +
            R"(","functions":[{"name":"f","ir":"1"},{"name":"g","ir":")" + function + R"("}]}]})");
  }
};

TEST_F(CompareTest, EqualSidesAreEqual) {
  EXPECT_TRUE(diff().none());
  EXPECT_FALSE(diff().traced);
  write("b/bundles/x.sigstore.json", "another signature is no difference");
  write("b/evidence.json", "{}");
  EXPECT_TRUE(diff().none());
}

TEST_F(CompareTest, NamesFieldFileSectionSymbolAndNode) {
  write("b/manifest.json", R"({"spec":{"target":"u"},"stages":{"more":1}})");
  write("b/program.so", sampleElf("aaaaaaaabbbbbbbX"));
  write("b/weights/0000.bin", "weightX");
  write("b/weights/0001.bin", "more");
  const Differences found = diff();
  ASSERT_EQ(found.fields.size(), 3u);
  EXPECT_EQ(found.fields[0].path, "spec.target");
  EXPECT_EQ(found.fields[0].second, "\"u\"");
  ASSERT_EQ(found.files.size(), 4u);
  const FileDifference& program = found.files[1];
  EXPECT_EQ(program.path, "program.so");
  ASSERT_EQ(program.sections.size(), 1u);
  EXPECT_EQ(program.sections[0].name, ".text");
  EXPECT_EQ(program.sections[0].offset, 15u);
  EXPECT_EQ(program.sections[0].symbol, "second");
  ASSERT_EQ(program.symbols.size(), 1u);
  EXPECT_EQ(program.symbols[0].nodes, "conv1");
  EXPECT_EQ(found.files[2].offset, 6u);
  EXPECT_FALSE(found.files[3].first);
}

TEST_F(CompareTest, KernelsOfAModuleByTheirText) {
  std::ifstream file(KILN_SPIRV_SEED, std::ios::binary);
  const std::string module{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(module.empty());
  // The only product of f32 numbers becomes a sum: five words that begin with 133 and 129.
  std::string other = module;
  const auto at = other.find(std::string("\x85\0\5\0", 4));
  ASSERT_EQ(at % 4, 0u);
  other[at] = '\x81';
  for (const char* side : {"a", "b"})
    write(std::string(side) + "/manifest.json",
          R"({"stages":{"schedule":{"kernels":[{"symbol":"kiln_k0_scale","nodes":["conv1"]}]}}})");
  write("a/kernels/vulkan-1.3.spv", module);
  write("b/kernels/vulkan-1.3.spv", other);
  const Differences found = diff();
  ASSERT_EQ(found.files.size(), 1u);
  EXPECT_EQ(found.files[0].offset, at);
  ASSERT_EQ(found.files[0].symbols.size(), 1u) << "and not the other kernel";
  const SymbolDifference& kernel = found.files[0].symbols[0];
  EXPECT_EQ(kernel.name, "kiln_k0_scale");
  EXPECT_EQ(kernel.nodes, "conv1");
  EXPECT_TRUE(kernel.isFunction);
  EXPECT_EQ(kernel.firstSize, kernel.secondSize);
  write("b/kernels/vulkan-1.3.spv", other.substr(0, other.size() - 4));
  ASSERT_EQ(diff().files.size(), 1u);
  EXPECT_TRUE(diff().files[0].symbols.empty()) << "no module: by its first byte alone";
}

// Neither by searching for each among all, nor by telling all.
TEST_F(CompareTest, AHundredThousandSectionsThatDiffer) {
  write("a/program.so", manySections(100'000, 'a'));
  write("b/program.so", manySections(100'000, 'b'));
  const Differences found = diff();
  ASSERT_EQ(found.files.size(), 1u);
  ASSERT_EQ(found.files[0].sections.size(), 1000u);
  EXPECT_EQ(found.files[0].sections[0].name, "s0");
}

TEST_F(CompareTest, WhatCannotBeReadNamesItsSideAndFile) {
  const auto message = [&] {
    const auto found = compare({"ours", directory / "a"}, {"theirs", directory / "b"});
    return found ? "compared" : found.error().message;
  };
  for (const char* side : {"a", "b"}) {
    SetUp();
    write(std::string(side) + "/manifest.json", "{");
    EXPECT_NE(message().find(side[0] == 'a' ? "ours: " : "theirs: "), std::string::npos) << message();
    EXPECT_NE(message().find("manifest.json: "), std::string::npos) << message();
    SetUp();
    const std::string file = directory / (std::string(side) + "/weights/0000.bin");
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_NE(message().find(side[0] == 'a' ? "ours: " : "theirs: "), std::string::npos) << message();
    EXPECT_NE(message().find("0000.bin is neither a file nor a directory"), std::string::npos) << message();
    fs::remove(file);
  }
}

TEST_F(CompareTest, TheFirstPassThatDiffers) {
  trace("a", "y", "3");
  trace("b", "y", "3");
  EXPECT_TRUE(diff().none());
  EXPECT_TRUE(diff().traced);
  trace("b", "z", "4");
  const Differences found = diff();
  ASSERT_TRUE(found.pass);
  EXPECT_EQ(found.pass->pass, "two");
  EXPECT_EQ(found.pass->before, "one");
  EXPECT_EQ(found.pass->functions, std::vector<std::string>{"g"});
  EXPECT_FALSE(found.none());
  write("b/passes.json", "{}");
  EXPECT_FALSE(compare({"a", directory / "a"}, {"b", directory / "b"}));
}

TEST_F(CompareTest, LinksAreRefusedAndAManifestIsNeeded) {
  fs::create_symlink("/etc/passwd", directory / "b/weights/0001.bin");
  EXPECT_EQ(compare({"a", directory / "a"}, {"b", directory / "b"}).error().code, Code::kInvalidArgument);
  fs::remove(directory / "b/weights/0001.bin");
  fs::remove(directory / "b/manifest.json");
  EXPECT_EQ(compare({"a", directory / "a"}, {"b", directory / "b"}).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace kiln::diff
