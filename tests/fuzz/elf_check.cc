// The ELF checks read nothing outside the file, and what they accept has its table inside its segments.
#include "compiler_core/runtime/elf/elf_check.h"

#include <cstdlib>

#include "compiler_core/runtime/program/function_names.h"
#include "compiler_core/runtime/program_abi.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln::runtime;
  // Whatever the checks say: the symbol table is not among what they look at.
  (void)readFunctionNames({data, size});
  for (const ElfMachine machine : {ElfMachine::kX8664, ElfMachine::kAArch64, ElfMachine::kRiscV}) {
    const auto image = checkElf({data, size}, machine, KILN_PROGRAM_SYMBOL, sizeof(kiln_program));
    if (image && !image->contains(image->symbolAddress, sizeof(kiln_program), false)) std::abort();
  }
  return 0;
}
