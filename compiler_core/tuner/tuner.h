// Finds out which schedules are fast on this machine. Measured, so never part of a compile: what comes out is
// a TuningRecord, whose entries a compile may be given.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "compiler_core/tuner/kernel_compiler.h"
#include "compiler_core/tuner/messages.h"
#include "manifest/tuning/kernel_plan.h"
#include "manifest/tuning/record.h"

namespace kiln::tuner {

// The device of a target that has one: `target`'s kernels are measured there, and no others.
struct TuneDevice {
  std::string program;  // path of kiln-measure
  std::string
      driver;  // CUDA driver library or Vulkan loader: a path, or a name that the system's loader finds
  int ordinal = 0;
};

struct TuneRequest {
  const KernelPlan& plan;
  // The isolated module of a signature; its digest is compared.
  std::function<Result<std::string>(const std::string& signature)> isolated;
  Tools tools;
  // Of kernels whose sums may be reassociated: whose default schedule the plan has.
  schedule::Reassociation order = schedule::Reassociation::kOn;
  std::chrono::seconds budget{60};
  unsigned threads = 1;              // of the processor
  std::optional<TuneDevice> device;  // without one, kernels of processors are measured
  std::uint64_t seed = 1;
  std::function<bool()> shouldStop;  // asked all the time; what is known then stays
  // At first and after each kernel: what is known so far.
  std::function<Status(const TuningRecord& record)> onRecord;
  std::function<void(const std::string& line)> onProgress;
  // How a candidate is made; empty: by KernelCompiler::compile.
  std::function<Result<KernelProgram>(const KernelCompiler& kernel, const Schedule& schedule)> compile;
};

// The record of all kernels of the plan; those that time was too short for, and those of something else than
// what is measured on, have their default alone, as not measured. kUnimplemented: this machine cannot run the
// target, or its device is none of it. kUnavailable: the device was lost; what was known was told.
// kNotFound: there is no such program that measures. kInvalidArgument: a
// kernel that does not fit the plan, more threads than processors. Errors of onRecord. A candidate that fails
// to compile or to run, crashes, hangs or wants too much memory is noted, not an error (measurer.h); where
// the default does not run, its kernel is not measured. One caller at a time: it ignores SIGPIPE meanwhile.
//
// Method: the default and each candidate in the order of search.h, `repetitions` samples after `warmups`
// runs; results must have the default's bits, since the order of every sum is the model's. Of kernels whose
// sums may be reassociated they must be within the method's tolerance of it: |result - default's| over the
// largest of the default's, which is what a sum of magnitudes is here, where all inputs are positive. The
// best are measured again in turn with the default, `rounds` times; the rule of record.h then decides.
Result<TuningRecord> tune(const TuneRequest& request);

// This machine, as a record names it, without features: those that count are what a kernel is made for.
TuningDevice thisMachine();
// A device likewise: its features are its compute capability and the CUDA version that its driver serves; of
// Vulkan the version that it serves, its driver and its type ("software": the processor behind a driver).
TuningDevice fingerprintOf(const MeasuredDevice& device);

}  // namespace kiln::tuner
