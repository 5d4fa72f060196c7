// Checks a program's ELF file before the dynamic loader may see it. Source: System V ABI (gABI 4.1) and the
// processor supplements for x86-64, AArch64 and RISC-V (psABI 1.0, whose programs also say in a header what
// they were compiled for).
//
// Accepted: what kiln-cc's linker writes, and nothing else. That is a 64-bit little-endian ET_DYN for the
// given machine: program headers, a dynamic section, segments that are readable and never both writable and
// executable; each entry of the dynamic section that the linker writes once, and no other. So there are no
// dependencies, no name, no constructors or destructors, thread-local storage, text relocations, undefined
// symbols, indirect functions, notes, or executable stack. Relocations are base-relative and stay inside
// writable segments; whatever the loader reads by is in segments that nobody writes. The loader therefore
// searches no library, resolves no symbol, runs no code of the file and reads and writes nothing outside its
// segments.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"

namespace kiln::runtime {

enum class ElfMachine : std::uint16_t { kX8664 = 62, kAArch64 = 183, kRiscV = 243 };
// The machine this process runs on.
ElfMachine hostMachine();

// A loaded range, relative to the load address.
struct ElfSegment {
  std::uint64_t address = 0, bytes = 0;
  bool writable = false, executable = false;
};

struct ElfImage {
  std::vector<ElfSegment> segments;  // ascending, disjoint by page
  std::uint64_t symbolAddress = 0;   // of the data symbol asked for, relative to the load address
  // Whether [address, address + bytes) lies in one segment; in an executable one if asked.
  bool contains(std::uint64_t address, std::uint64_t bytes, bool executable) const;
};

// Checks all of `file` and finds the data symbol `symbol` of at least `symbolBytes`. Reads nothing outside
// `file`, whatever its contents. kUnimplemented for a program of another machine, else kDataLoss; both name
// the finding.
Result<ElfImage> checkElf(Bytes file, ElfMachine machine, std::string_view symbol, std::uint64_t symbolBytes);

}  // namespace kiln::runtime
