// The reference evaluator: plain C++ over the kiln dialect. No vectorisation, no reassociation, kiln::math
// for every transcendental function: the oracle of tests, the source of fixtures' expected outputs, and the
// arithmetic of constant folding (so a fold can never differ from the oracle).
//
// Rounding: elementwise operations round each result to its type. Sums (matmul, conv2d, average pooling,
// reduce, softmax's denominator) are accumulated in f64 in row-major order and rounded once, so a compiled
// program that accumulates in f32 differs by rounding only; fixtures carry rtol 1e-3, atol 1e-5. Programs
// must not be compared bit for bit. Thread safe on distinct modules; does not modify the module.
#pragma once

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/weight_table.h"
#include "compiler_core/reference/host_tensor.h"
#include "manifest/base/result.h"

namespace kiln::reference {

// Bounds all tensors that are alive at once.
inline constexpr std::int64_t kMaxLiveBytes = std::int64_t{8} << 30;

// Runs @main. `inputs` are in argument order. kInvalidArgument names an input of wrong shape or type;
// kUnimplemented names an operation the dialect does not have; kResourceExhausted tensors that
// are beyond kMaxLiveBytes, alone or together with what is alive beside them.
Result<std::vector<HostTensor>> evaluate(mlir::ModuleOp module, const ir::WeightTable& weights,
                                         const std::vector<HostTensor>& inputs);

// One operation without regions, on given operands; its results in order.
Result<std::vector<HostTensor>> evaluateAll(mlir::Operation* operation,
                                            llvm::ArrayRef<const HostTensor*> operands);

// The same for an operation with one result.
Result<HostTensor> evaluateOperation(mlir::Operation* operation, llvm::ArrayRef<const HostTensor*> operands);

// A weight's bytes as a tensor (copied).
HostTensor toHostTensor(const ir::Weight& weight);

// The value of a kiln.constant or kiln.weight, if `value` is one and its table entry fits its type.
std::optional<HostTensor> constantValue(mlir::Value value, const ir::WeightTable& weights);

}  // namespace kiln::reference
