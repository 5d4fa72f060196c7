// A case taken apart: its program alone, and the tensors that it is given and must give.
#pragma once

#include "compiler_core/reference/host_tensor.h"
#include "compiler_core/runtime/compare/compare.h"
#include "tests/conformance/dialects/case_file.h"

namespace kiln::conformance {

struct CalculatedCase {
  std::string text, bytecode;  // of the program; both are taken by readProgram()
  std::vector<reference::HostTensor> inputs, expected;
  runtime::Tolerance tolerance;  // of floats
};

// kInvalidArgument: the module is no case.
Result<CalculatedCase> calculated(const DialectsCase& one);

// kInternal, naming the result: `got` is not what is expected. Integers and i1 must be the same.
Status compareResults(const CalculatedCase& given, const std::vector<reference::HostTensor>& got);

}  // namespace kiln::conformance
