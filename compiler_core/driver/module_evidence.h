// Evidence that the passes left as attributes of the module. Private to this folder. Where something is
// missing that a pass leaves, an error at the operation says what, and what is read is not complete: for the
// observers of codegen/lower/pipeline.h, which fail with it.
#pragma once

#include <vector>

#include "compiler_core/driver/evidence.h"
#include "compiler_core/package/weights.h"

namespace mlir {
class ModuleOp;
}

namespace kiln::driver {

// After kiln-vectorize or kiln-map-to-gpu. Gives the weights of one profile's module the slots that `uses`
// has for the same bytes in the same layout, or new ones: profiles share them.
void shareWeights(mlir::ModuleOp module, const ir::WeightTable& weights, std::uint32_t space,
                  std::vector<package::WeightUse>& uses);

// After kiln-plan-memory: the plan, and the weights in the order of the program's pointers.
void readPlan(mlir::ModuleOp module, MemoryPlan& plan, std::vector<package::WeightUse>& uses);

// After kiln-join-partitions: what all partitions of a profile need together. Inputs, outputs and scratch are
// left alone.
void readRegions(mlir::ModuleOp module, unsigned profile, PlanEvidence& plan);

// After kiln-outline-kernels: the kernels in the order of their first call.
void readKernels(mlir::ModuleOp module, std::vector<KernelEvidence>& kernels);

}  // namespace kiln::driver
