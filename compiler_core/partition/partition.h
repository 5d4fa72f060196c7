// Which target runs which part of the graph. One target for now: everything it can serve is one partition,
// and what it cannot is named, never moved elsewhere in silence.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/ir/evidence.h"
#include "manifest/base/result.h"

namespace mlir {
class ModuleOp;
}

namespace kiln::partition {

struct Partition {
  std::string target;
  std::int64_t operations = 0;
  std::vector<std::string> nodes;  // source nodes, in order
};

struct PartitionEvidence {
  std::vector<Partition> partitions;
  std::int64_t transferBytes = 0;             // between partitions
  std::vector<ir::UnsupportedNode> fallback;  // nodes that run elsewhere; always empty with one target
};

struct PartitionResult {
  PartitionEvidence evidence;
  std::vector<ir::UnsupportedNode> unsupported;  // not empty: the target cannot run this model
};

// Checks every operation of @main against the capability table of `target` ("cpu:...").
PartitionResult partition(mlir::ModuleOp module, const std::string& target);

}  // namespace kiln::partition
