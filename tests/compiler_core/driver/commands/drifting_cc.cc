// kiln-drifting-cc: kiln-cc's compile, with a constant changed after a chosen pass.
// usage: kiln-drifting-cc PASS MODEL SPEC OUT TOOLCHAIN TRACE
#include <cstdio>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/commands/toolchain.h"
#include "tests/compiler_core/driver/commands/drift.h"

int main(int argc, char** argv) {
  if (argc != 7 || !kiln::driver::pinHostMath(argv)) return kiln::kExitUsage;
  kiln::driver::CompileArguments arguments;
  arguments.afterPass = kiln::testing_support::driftAfter(argv[1]);
  arguments.model = argv[2];
  arguments.spec = argv[3];
  arguments.out = argv[4];
  arguments.toolchain = argv[5];
  arguments.tracePasses = argv[6];
  const auto result = kiln::driver::compileCommand(arguments);
  if (!result) std::fprintf(stderr, "%s\n", result.error().error.message.c_str());
  return result ? 0 : result.error().exit;
}
