// One function per operation family. Operands have the types the verifier demands; results have the
// operation's.
#pragma once

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/packed/packed_ops.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/reference/host_tensor.h"
#include "compiler_core/reference/scalar.h"

namespace kiln::reference {

using Operands = llvm::ArrayRef<const HostTensor*>;

// Calls f with a value of the C++ type behind `dtype`: Bool, Float16, BFloat16 or a built-in type; integers
// below a byte are those of a byte. 8- and 4-bit floats, which meet no arithmetic, are their codes.
template <class F>
void dispatch(DType dtype, F f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kF16:
      return f(Float16{});
    case DType::kBF16:
      return f(BFloat16{});
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return f(std::int8_t{});
    case DType::kI16:
      return f(std::int16_t{});
    case DType::kI32:
      return f(std::int32_t{});
    case DType::kI64:
      return f(std::int64_t{});
    case DType::kU16:
      return f(std::uint16_t{});
    case DType::kU32:
      return f(std::uint32_t{});
    case DType::kU64:
      return f(std::uint64_t{});
    case DType::kBool:
      return f(Bool{});
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
HostTensor evaluate(ir::BitcastOp operation, Operands operands);
HostTensor evaluate(ir::BatchNormOp operation, Operands operands);
HostTensor evaluate(ir::DequantiseOp operation, Operands operands);
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
HostTensor evaluate(ir::ShapeValueOp operation, Operands operands);
HostTensor evaluate(ir::TruncateOp operation, Operands operands);
// reduction.cc
HostTensor evaluate(ir::ReduceOp operation, Operands operands);
HostTensor evaluate(ir::SoftmaxOp operation, Operands operands);
// contraction.cc
HostTensor evaluate(ir::MatmulOp operation, Operands operands);
HostTensor evaluate(ir::AttentionOp operation, Operands operands);
HostTensor evaluate(ir::ConvOp operation, Operands operands);
HostTensor evaluate(ir::PoolOp operation, Operands operands);

}  // namespace kiln::reference
