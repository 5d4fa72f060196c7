// Compiles kiln text all the way, runs it, and compares with the reference evaluator: what the tests of the
// schedule are made of.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler_core/reference/host_tensor.h"
#include "compiler_core/schedule/choice/schedule_override.h"
#include "manifest/base/result.h"

namespace kiln::testing {

struct Checked {
  std::string ir;  // of the stage asked for
  std::vector<reference::HostTensor> outputs;
  std::uint64_t arenaBytes = 0, scratchBytes = 0;
};

struct CheckOptions {
  std::string stage = "kernels";
  std::string target = "cpu:x86-64-v3";  // of the processor that runs it
  bool rewrite = false;                  // through the rewrite stage first, as a model goes
  bool quantised = false;                // with precision "int8"
  bool contraction = true;
  double relative = 1e-4, absolute = 1e-5;
  std::vector<reference::HostTensor> inputs;  // empty: from the seeded generator
  // For a device, run by the emulated one with its threads in three orders instead of 1, 2 and 7 threads.
  bool device = false, tf32 = false;
  schedule::Reassociation reassociation = schedule::Reassociation::kOff;  // of a processor
  // Kernels get signatures, and their schedules from `given`, as kiln-tile does it: always on a device, on a
  // processor where one of these is there.
  const schedule::ScheduleOverrides* given = nullptr;
  std::function<void(const schedule::KernelFound& kernel)> onKernel;
};

// Weights and inputs come from the seeded generator. The program runs with 1, 2 and 7 threads; an error
// unless all give the same bits, stay inside their plan, and agree with the reference evaluator (integers
// exactly).
Result<Checked> checkText(const std::string& text, const CheckOptions& options = {});

}  // namespace kiln::testing
