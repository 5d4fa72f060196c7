// The data of one case: <case>/test_data_set_0/{input,output}_N.pb. No MLIR.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/reference/host_tensor.h"
#include "manifest/base/result.h"

namespace kiln::conformance {

using reference::HostTensor;

enum class Outcome { kPassed, kFailed, kSkipped };

struct CaseResult {
  std::string name;
  Outcome outcome = Outcome::kFailed;
  std::string reason;  // "" when passed
};

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;  // the suite's own, unless the case has a data.json
};

// stem_0.pb, stem_1.pb ... up to the first that is missing.
Result<std::vector<HostTensor>> readTensors(const std::string& directory, const std::string& stem);

// The suite's few symbolic dimensions take the values of the inputs given.
Result<analysis::DimValues> dimsOf(const std::string& directory, const std::vector<HostTensor>& inputs);

// kDataLoss says which output differs and how.
Status compareAll(const std::vector<HostTensor>& got, const std::vector<HostTensor>& expected,
                  Tolerance tolerance);

// Skipped is what Kiln says it does not serve (kUnimplemented), with that reason.
CaseResult toResult(const std::string& name, const Status& status);

}  // namespace kiln::conformance
