// Compiles an ONNX model once for shape profiles, runs it at several shapes, and compares each run with a
// compile for that shape alone (bit for bit) and with the reference evaluator.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler_core/analysis/dim_binding.h"
#include "manifest/base/result.h"
#include "tests/support/onnx_builder.h"

namespace kiln::testing {

struct ModelCheck {
  testing_support::OnnxBuilder model;
  std::vector<analysis::Profile> profiles;
  // Values of the symbols per run, by name; empty: min, opt and max of every profile.
  std::vector<std::map<std::string, std::int64_t>> runs;
  double relative = 1e-3, absolute = 1e-5;  // against the reference
};

// An error names the first run that differs, leaves its plan, or states other shapes.
Status checkModel(const ModelCheck& check);

}  // namespace kiln::testing
