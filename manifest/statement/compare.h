// The differences of two provenances: what was asked for, what went in, who built. For artifacts of one model
// the answer to "what changed"; where the bytes differ is another question (api/diff).
#pragma once

#include <string>
#include <vector>

#include "manifest/statement/provenance.h"
#include "manifest/toolchain/description.h"

namespace kiln {

struct ProvenanceDifference {
  std::string what;           // parameter, farm, input, source, component, builder
  std::string name;           // "target", "input/model.onnx", "ptxas bin/ptxas", a worker
  std::string first, second;  // "" where that side has none
  auto operator<=>(const ProvenanceDifference&) const = default;
};

// Sorted. Ids of jobs, times and receipts, which differ always, are left out. Components are compared where
// both descriptions are given.
std::vector<ProvenanceDifference> compareProvenance(const Provenance& first, const Provenance& second,
                                                    const ToolchainDescription* firstToolchain = nullptr,
                                                    const ToolchainDescription* secondToolchain = nullptr);

}  // namespace kiln
