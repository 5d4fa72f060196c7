// What a model's results should be, by the reference evaluator. No MLIR and no JSON in this header.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler_core/driver/model_paths.h"
#include "compiler_core/ir/evidence.h"
#include "compiler_core/reference/host_tensor.h"
#include "manifest/base/result.h"
#include "manifest/spec/composite.h"
#include "manifest/spec/pin.h"

namespace kiln::driver {

// Inputs from the seeded generator (pinned ones and elements that the dims name have their value), but for
// those that `given` holds, and outputs from the reference evaluator, for one value of each symbolic
// dimension. kResourceExhausted, before anything is run: it would be too much (reference_effort.h);
// other errors of a model as compile() has them. Thread safe.
struct ReferenceResult {
  std::vector<ir::Signature> inputs, outputs;
  std::vector<reference::HostTensor> inputValues, outputValues;
  DType coarsest = DType::kF32;  // kF16 or kBF16 where the graph takes or calculates such floats
  bool hasBytes = false;         // the graph has integers of 8 bits
  // How many indices of which nodes lay outside their dimension (ir/index_checks.h).
  std::map<std::string, std::int64_t> outOfRange = {};
};
Result<ReferenceResult> evaluateReference(const ModelPaths& paths,
                                          const std::map<std::string, std::int64_t>& dims, const Pins& pins,
                                          const Composites& sequences, std::uint64_t seed,
                                          const std::map<std::string, reference::HostTensor>& given = {});

}  // namespace kiln::driver
