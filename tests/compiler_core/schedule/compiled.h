// Compiles kiln text all the way and runs it: what the tests of the schedule are made of.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/result.h"
#include "tests/compiler_core/host/program_host.h"

namespace kiln::testing {

struct Compiled {
  ProgramHost host;
  std::string ir;  // of the stage asked for
  std::vector<std::size_t> outputBytes;
  // float outputs for float weights and inputs, with 1, 2 and 7 threads; fails unless the bits agree.
  Result<std::vector<std::vector<float>>> run(const std::vector<std::vector<float>>& weights,
                                              const std::vector<std::vector<float>>& inputs) const;
};

Result<Compiled> compileText(const std::string& text, const std::string& stage = "vectors",
                             const std::string& target = "cpu:x86-64-v3");

// Values in (-1, 1), the same on every call with the same seed.
std::vector<float> randomValues(std::size_t count, unsigned seed);

}  // namespace kiln::testing
