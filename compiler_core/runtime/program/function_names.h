// The names of a program's functions, from its symbol table: what perf and gdb show.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "manifest/base/digest.h"

namespace kiln::runtime {

// By address relative to the load address.
using FunctionNames = std::map<std::uint64_t, std::string>;

// Reads .symtab of an ELF file that passed checkElf (elf/elf_check.h), which does not look at it: nothing
// outside `file` is read, whatever it holds. Without a symbol table there are no names; a malformed one is
// kDataLoss.
Result<FunctionNames> readFunctionNames(Bytes file);

}  // namespace kiln::runtime
