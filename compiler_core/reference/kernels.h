// One function per operation family. Operands have the types the verifier demands; results have the
// operation's.
#pragma once

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/reference/host_tensor.h"

namespace kiln::reference {

using Operands = llvm::ArrayRef<const HostTensor*>;

// Calls f with a value of the C++ type behind `dtype`; bool is uint8_t.
template <class F>
void dispatch(DType dtype, F f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kI32:
      return f(std::int32_t{});
    case DType::kI64:
      return f(std::int64_t{});
    default:
      return f(std::uint8_t{});
  }
}

// Zeros of an operation's result type.
HostTensor emptyResult(mlir::Operation* operation);
// result[i0, i1, ...] = input[base + i0 * strides[0] + i1 * strides[1] + ...], in elements.
void copyStrided(const HostTensor& input, std::int64_t base, llvm::ArrayRef<std::int64_t> strides,
                 HostTensor& result);
// Row-major strides in elements.
llvm::SmallVector<std::int64_t> rowMajor(llvm::ArrayRef<std::int64_t> shape);

// elementwise.cc
HostTensor evaluate(ir::UnaryOp operation, Operands operands);
HostTensor evaluate(ir::BinaryOp operation, Operands operands);
HostTensor evaluate(ir::CompareOp operation, Operands operands);
HostTensor evaluate(ir::SelectOp operation, Operands operands);
HostTensor evaluate(ir::CastOp operation, Operands operands);
HostTensor evaluate(ir::BatchNormOp operation, Operands operands);
// movement.cc
HostTensor evaluate(ir::ConstantOp operation, Operands operands);
HostTensor evaluate(ir::BroadcastOp operation, Operands operands);
HostTensor evaluate(ir::ReshapeOp operation, Operands operands);
HostTensor evaluate(ir::TransposeOp operation, Operands operands);
HostTensor evaluate(ir::ConcatOp operation, Operands operands);
HostTensor evaluate(ir::SliceOp operation, Operands operands);
HostTensor evaluate(ir::GatherOp operation, Operands operands);
HostTensor evaluate(ir::IotaOp operation, Operands operands);
HostTensor evaluate(ir::PadOp operation, Operands operands);
// reduction.cc
HostTensor evaluate(ir::ReduceOp operation, Operands operands);
HostTensor evaluate(ir::SoftmaxOp operation, Operands operands);
// contraction.cc
HostTensor evaluate(ir::MatmulOp operation, Operands operands);
HostTensor evaluate(ir::AttentionOp operation, Operands operands);
HostTensor evaluate(ir::ConvOp operation, Operands operands);
HostTensor evaluate(ir::PoolOp operation, Operands operands);

}  // namespace kiln::reference
