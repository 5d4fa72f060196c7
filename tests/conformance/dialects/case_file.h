// Cases on disk, as make_cases.py writes them. No MLIR.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::conformance {

struct DialectsCase {
  std::string operation;  // "tosa.add": what the file is called
  std::string name;       // "tosa.add/float32 2x3x4"
  std::string text;       // a module with @main, @inputs and @expected
};

// All cases of the folder's .mlir files, which stand between lines "// -----" and begin with their names, in
// the order of the files' names. kNotFound: there is no such folder, or nothing in it.
Result<std::vector<DialectsCase>> readCases(const std::string& folder);

}  // namespace kiln::conformance
