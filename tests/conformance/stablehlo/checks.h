// What a case expects: the operations of the check dialect, taken out of a program and made results of it.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/frontend/stablehlo/program/program.h"
#include "compiler_core/reference/host_tensor.h"

namespace kiln::conformance {

struct Check {
  enum class Kind {
    kEqual,   // the same bits, or both NaN
    kAlmost,  // |a - b| <= tolerance, or both NaN
    kClose    // so many numbers of the type apart, or both NaN
  };
  Kind kind = Kind::kEqual;
  double tolerance = 0;
  std::int64_t leastUlps = 0, mostUlps = 0;
  double allowance = 0;  // what differs by no more than so much of the largest expected number agrees too
};

struct CheckedProgram {
  // Its entry returns, for each check, what was calculated and what is expected.
  stablehlo::Program program;
  std::vector<Check> checks;
  std::string function;  // that the entry was
};

// One for each function that has checks; `allowance` is for all of them. kUnimplemented for checks that are
// of no use here (files that a probe has written).
Result<std::vector<CheckedProgram>> checkedPrograms(const stablehlo::Program& program, double allowance);

// The operations of a program but for checks, calls and returns, each once: "stablehlo.add", "chlo.top_k".
std::vector<std::string> operationsOf(const stablehlo::Program& program);

// kDataLoss: where and how they differ.
Status compare(const Check& check, const reference::HostTensor& got, const reference::HostTensor& expected);

}  // namespace kiln::conformance
