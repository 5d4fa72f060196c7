// kiln-cc disassemble: prints the instructions of one function of a program.
#include <fmt/format.h>

#include <cstdio>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/disassemble.h"

namespace kiln::driver {
namespace {

constexpr std::size_t kMaxProgramBytes = 1u << 30;
constexpr std::size_t kMaxInstructions = 200'000;

}  // namespace

CommandResult disassembleCommand(const DisassembleArguments& arguments) {
  const auto elf = readText(arguments.program, kMaxProgramBytes, "give a program.so of an artifact");
  if (!elf) return stop(exitForFile(elf.error()), elf.error());
  auto lines = disassemble(*elf, arguments.function, kMaxInstructions);
  if (!lines) return stop(exitForFile(lines.error()), lines.error().in(arguments.program));
  for (const Instruction& line : *lines) fmt::print("{:#x}\t{}\t{}\n", line.offset, line.bytes, line.text);
  return {};
}

}  // namespace kiln::driver
