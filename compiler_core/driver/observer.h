// What a caller watches of a compile, and what is written for people beside the artifact. No MLIR in this
// header.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "compiler_core/driver/stage.h"
#include "compiler_core/schedule/choice/schedule_override.h"

namespace mlir {
class Operation;
}

namespace kiln::driver {

// Any member may be empty. The callbacks run on the thread of compile(), in the order of work, and until it
// returns. A compile gives the same bytes with and without an observer, unless afterPass changes the IR, and
// whatever the number of jobs.
struct CompileObserver {
  // A stage begins. rewrite and partition begin once per profile, schedule, plan and codegen once per unit.
  std::function<void(Stage stage)> progress;
  std::function<void(const schedule::KernelFound& kernel)> onKernel;  // each that has a signature
  // The processor time of each pass, and of each step from the LLVM dialect to machine code
  // ("llvm:optimize"), summed over the threads that took it.
  std::function<void(std::string_view pass, double seconds)> onPass;
  // Sees the IR after each pass, and after each stage of the lowering (named "stage:linalg"); what it changes
  // is compiled.
  std::function<void(std::string_view pass, mlir::Operation& op)> afterPass;
  std::function<void(std::string_view text)> onLlvmIr;  // the program's, before machine code is made of it
  std::string irDirectory;                              // existing folder for the textual IR of each stage
  // Existing folder for <digest of each device image>.so, its kernels for the emulated device.
  std::string emulation;
  unsigned jobs = 0;  // so many threads at most make machine code; 0: as many as there are processors
};

}  // namespace kiln::driver
