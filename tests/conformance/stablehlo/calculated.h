// A case of testdata/ as a program to compile: its inputs are arguments and its checks are left out.
#pragma once

#include "tests/conformance/case_data.h"
#include "tests/conformance/stablehlo/checks.h"
#include "tests/conformance/stablehlo/corpus.h"

namespace kiln::conformance {

struct Calculated {
  std::string text;                 // of the module
  std::vector<NamedTensor> inputs;  // by the names of the program's inputs
  // What is checked: a result of the program, by its number, and what it is held against.
  struct Expected {
    std::size_t result = 0;
    Check check;
    HostTensor tensor;
  };
  std::vector<Expected> expected;
  std::vector<std::string> operations;  // of the module, by their full names
};

// kUnimplemented for cases that are not of this form: without @inputs, or with a checked value that is no
// result.
Result<Calculated> calculated(const StablehloCase& one);

}  // namespace kiln::conformance
