// Lets the tests of the compiler run a unit that is compiled for a device: its kernels run on the emulated
// device's threads, in the caller's memory.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/codegen/cpu/codegen.h"
#include "compiler_core/codegen/lower/pipeline.h"
#include "tests/compiler_core/host/emulated_kernels.h"
#include "tests/compiler_core/host/program_host.h"

namespace kiln::testing {

class DeviceRun {
 public:
  DeviceRun();
  ~DeviceRun();

  // Before lowering: `options` become those of a device.
  void prepare(codegen::PipelineOptions& options, const schedule::DeviceOptions& device);
  // After it: compiles the kernels, and lets `host` launch them; this must outlive its runs.
  Status attach(ProgramHost& host, const codegen::CpuOptions& cpu);
  // Ascending for 1, descending for 2, else shuffled.
  void setOrder(int number);
  // What went wrong in a kernel, "" for nothing.
  const std::string& failure() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln::testing
