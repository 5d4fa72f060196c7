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
  const auto program = readText(arguments.program, kMaxProgramBytes,
                                "give a program.so or the .spv module of kernels of an artifact");
  if (!program) return stop(exitForFile(program.error()), program.error());
  auto lines = disassemble(*program, arguments.function, kMaxInstructions);
  if (!lines) return stop(exitForFile(lines.error()), lines.error().in(arguments.program));
  for (const Instruction& line : *lines) fmt::print("{:#x}\t{}\t{}\n", line.offset, line.bytes, line.text);
  return {};
}

}  // namespace kiln::driver
