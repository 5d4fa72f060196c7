// Runs kernels compiled for the emulated device where a program launches them, on the caller's own memory;
// for tests only.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/runtime/emulated/grid.h"
#include "compiler_core/runtime/program_abi.h"
#include "manifest/base/result.h"

namespace kiln::testing {

class EmulatedKernels {
 public:
  // `elf`: what codegen::generateEmulation made.
  static Result<EmulatedKernels> load(const std::string& elf);

  // All blocks of a launch, one after the other in that order. "" or what went wrong.
  std::string launch(const kiln_launch& launch, emulated::Order order) const;

 private:
  // A loaded file, open as long: dlopen tells files by their path, which has its number.
  struct Loaded {
    int file = -1;
    void* handle = nullptr;
    ~Loaded();
  };
  EmulatedKernels(std::shared_ptr<const Loaded> loaded, const kiln_emulation* table)
      : loaded_(std::move(loaded)), table_(table) {}
  std::shared_ptr<const Loaded> loaded_;
  const kiln_emulation* table_;
};

}  // namespace kiln::testing
