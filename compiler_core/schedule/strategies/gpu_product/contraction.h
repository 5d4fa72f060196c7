// Contractions on devices: matrix products, batched ones, and convolutions as the products that they are.
// Private to compiler_core/schedule.
//
// A block's rows and columns of results are made tile by tile: panels of both operands are gathered into
// shared memory through their indexing maps, and each thread keeps some results in registers. While one
// piece is multiplied, the next is on its way into registers.
// - f32, f64 and integers: every result adds its products one by one in the order of the model, fused where
//   the numerics say so: the bits of the CPU targets.
// - 16-bit floats: the warps' tensor cores multiply the codes and add in f32, 16 products at a time; f32
//   likewise where the numerics allow tf32, 8 at a time. The order is fixed, but not the model's.
#pragma once

#include <memory>

#include "compiler_core/schedule/emit/gpu/emit.h"
#include "compiler_core/schedule/strategies/contract/plan.h"

namespace kiln::schedule {

// The parts of the plan are pointwise operations of the same block that become part of the contraction; the
// code stands where the last of them does. Null for what is no contraction, and for those that gain nothing
// from panels: few rows or columns share too little.
std::unique_ptr<Plan> planContraction(mlir::linalg::LinalgOp op, const BlockThread& thread,
                                      const GpuOptions& options);

}  // namespace kiln::schedule
