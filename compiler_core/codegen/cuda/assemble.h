// PTX to a cubin by the toolchain's ptxas, as a child process.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::codegen {

struct Assembler {
  std::string ptxas;  // path of the program
  std::string
      toolchainLib;  // folder with its loader and libraries; without a loader there, ptxas is started itself
  std::string arch;  // "sm_90a"
  std::string workDirectory;  // existing and writable; one call per arch at a time
};

// Starts ptxas with -arch alone, since every option it is given enters the cubin, in workDirectory, so that
// paths do not; of the environment it gets GLIBC_TUNABLES. It needs neither /proc nor /tmp. Nothing stays
// behind. kUnimplemented: there is no ptxas. kFailedPrecondition: it does not start. kResourceExhausted: it
// was killed. kInternal: it refuses the PTX, with the beginning of what it said.
Result<std::string> assemble(const std::string& ptx, const Assembler& assembler);

}  // namespace kiln::codegen
