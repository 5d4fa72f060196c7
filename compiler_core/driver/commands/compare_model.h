// Which operation is the first whose result is wrong: a model's program, run here, beside the reference
// evaluator.
#pragma once

#include <optional>

#include "compiler_core/driver/compiler.h"
#include "compiler_core/runtime/compare/compare.h"
#include "manifest/spec/compile_spec.h"

namespace kiln::driver {

struct CompareRequest {
  CompileRequest compile;  // for a target that this machine runs; `out` and `probe` are not looked at
  CompileSpec spec;        // of one profile, which is compared at its opt
  std::uint64_t seed = 1;
  std::map<std::string, reference::HostTensor> inputs;  // instead of seeded ones
  // For floats; more where 16-bit floats of the model explain more (fixture_tolerance.h). `absolute` counts
  // in units of the tensor's largest value where that is above 1. Integers and bool must be equal, 8-bit
  // integers by one.
  runtime::Tolerance tolerance;
  std::uint32_t threads = 2;
  bool everyNode = false;  // look at each node also where nothing is wrong
  std::string dump;        // existing folder for what was got and what was expected, as .npy; empty: none
};

// One tensor of the program. `comparison` is absent where the shapes differ.
struct Compared {
  std::vector<std::string> nodes;  // of an output: none
  std::string what;                // the output's name, or the operation
  DType dtype = DType::kF32;
  std::vector<std::int64_t> got, expected;  // shapes
  std::optional<runtime::Comparison> comparison;

  bool agrees() const { return comparison && comparison->passed(); }
};

struct CompareReport {
  std::vector<Compared> outputs;  // of the program as it is, beside the model as it was captured
  std::vector<Compared>
      kernels;                  // what kernels hand on, fusion as in the program, beside the rewritten graph
  std::vector<Compared> nodes;  // every operation, nothing fused; empty where nothing was wrong before

  bool agrees() const;
};

// The first that does not agree; null where all do.
const Compared* firstWrong(const std::vector<Compared>& compared);

// Errors of the compile and of the runtime; kFailedPrecondition where the spec has several profiles or an
// input does not fit.
Result<CompareReport> compareModel(const CompareRequest& request);

}  // namespace kiln::driver
