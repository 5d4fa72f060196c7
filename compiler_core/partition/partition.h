// Which target runs which part of the graph. What the primary target cannot serve fails by name, or falls
// back where the spec allows that: nothing moves elsewhere in silence.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler_core/ir/evidence.h"
#include "compiler_core/partition/capability.h"
#include "manifest/base/result.h"
#include "manifest/spec/partition_rules.h"

namespace mlir {
class ModuleOp;
class Pass;
}  // namespace mlir

namespace kiln::partition {

// A run of operations on one target: one part of the program.
struct Partition {
  std::string target;
  std::int64_t operations = 0;
  std::vector<std::string> nodes;  // source nodes, in order
  std::int64_t emulated = 0;       // of the operations
  std::uint64_t flops = 0, bytes = 0;
};

struct Transfer {
  std::string node, from, to;  // the node whose result is copied; targets
  std::uint64_t bytes = 0;     // at the largest shape of the profile
};

struct Fallback {
  ir::UnsupportedNode node;  // with the reason why the target that should have it cannot
  std::string from, to;
};

struct PartitionEvidence {
  std::vector<std::string> targets;   // that the artifact is compiled for, the primary first
  std::vector<Partition> partitions;  // in the order of execution
  std::vector<Transfer> transfers;
  std::uint64_t transferBytes = 0;  // of all of them
  std::vector<Fallback> fallback;
  std::int64_t nodes = 0;             // source nodes in all, without weights and constants
  std::int64_t fallbackPermille = 0;  // of them, rounded up
};

struct PartitionOptions {
  std::vector<std::string> targets;  // the primary first
  bool fallback = false;             // what a target cannot serve may go to the fallback target
  bool onlyFallback =
      false;  // the last target takes nothing but what falls back: nobody asked for it by name
  PartitionRules rules;
  std::map<std::string, std::string> operators;  // source operator by node name, for "op:" rules
  // Injected by tests.
  std::function<const CapabilityTable&(std::string_view target)> capabilities = capabilitiesOf;
};

struct PartitionResult {
  PartitionEvidence evidence;
  std::vector<ir::UnsupportedNode> unsupported;  // not empty: the targets cannot run this model
};

// Decides for every operation of @main and marks it with kiln.target where there are several targets. Where
// all goes to one target on the processor, nothing is marked. The fallback target is the last cpu: target
// that is not the primary. kUnimplemented: more falls back than the rules allow.
Result<PartitionResult> partition(mlir::ModuleOp module, const PartitionOptions& options);

// passes.td says what it does.
std::unique_ptr<mlir::Pass> createPartitionPass();

// After kiln-partition: what was cut and what goes between. `evidence` has the targets and fallbacks.
// kInternal: a partition has no kiln.target.
Status describe(mlir::ModuleOp module, PartitionEvidence& evidence);

}  // namespace kiln::partition
