#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "compiler_core/driver/command.h"
#include "compiler_core/driver/disassemble.h"

namespace kiln::driver {
namespace {

constexpr std::size_t kMaxProgramBytes = 1u << 30;
constexpr std::size_t kMaxInstructions = 200'000;

}  // namespace

CommandResult disassembleCommand(const DisassembleArguments& arguments) {
  std::ifstream file(arguments.program, std::ios::binary);
  if (!file) return stop(kExitNotFound, {Code::kNotFound, arguments.program + ": cannot be read", {}});
  std::string elf;
  for (std::string chunk(1 << 20, '\0'); file.read(chunk.data(), std::ssize(chunk)), file.gcount() > 0;) {
    elf.append(chunk, 0, static_cast<std::size_t>(file.gcount()));
    if (elf.size() > kMaxProgramBytes)
      return stop(kExitUsage, {Code::kInvalidArgument, arguments.program + ": has more than 1 GiB", {}});
  }
  auto lines = disassemble(elf, arguments.function, kMaxInstructions);
  if (!lines) return stop(lines.error().code == Code::kNotFound ? kExitNotFound : kExitUsage, lines.error());
  for (const Instruction& line : *lines) fmt::print("{:#x}\t{}\t{}\n", line.offset, line.bytes, line.text);
  return {};
}

}  // namespace kiln::driver
