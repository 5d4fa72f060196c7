// Operations that move elements and calculate nothing.
#include <algorithm>

#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/permute_bytes.h"
#include "compiler_core/reference/kernels.h"

namespace kiln::reference {

HostTensor emptyResult(mlir::Operation* operation) {
  auto type = ir::tensorType(operation->getResult(0));
  return HostTensor::zeros(*ir::dtypeOf(type.getElementType()), type.getShape().vec());
}

llvm::SmallVector<std::int64_t> rowMajor(llvm::ArrayRef<std::int64_t> shape) {
  llvm::SmallVector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

void copyStrided(const HostTensor& input, std::int64_t base, llvm::ArrayRef<std::int64_t> strides,
                 HostTensor& result) {
  const std::size_t width = dtypeBytes(result.dtype), rank = result.shape.size();
  llvm::SmallVector<std::int64_t> index(rank, 0);
  std::int64_t source = base;
  for (std::int64_t i = 0, n = result.elements(); i < n; ++i) {
    std::memcpy(result.bytes.data() + static_cast<std::size_t>(i) * width,
                input.bytes.data() + static_cast<std::size_t>(source) * width, width);
    for (std::size_t dim = rank; dim-- > 0;) {
      source += strides[dim];
      if (++index[dim] < result.shape[dim]) break;
      source -= strides[dim] * index[dim];
      index[dim] = 0;
    }
  }
}

HostTensor evaluate(ir::ConstantOp operation, Operands) {
  HostTensor result = emptyResult(operation);
  auto value = llvm::cast<mlir::DenseElementsAttr>(operation.getValue());
  const std::size_t width = dtypeBytes(result.dtype);
  const bool isSigned = result.dtype == DType::kI4 || result.dtype == DType::kI2;
  std::uint8_t* output = result.bytes.data();
  auto put = [&](const llvm::APInt& bits) {
    const std::uint64_t whole =
        isSigned ? static_cast<std::uint64_t>(bits.getSExtValue()) : bits.getZExtValue();
    std::memcpy(output, &whole, width);
    output += width;
  };
  if (llvm::isa<mlir::FloatType>(value.getElementType()))
    for (const llvm::APFloat& element : value.getValues<llvm::APFloat>()) put(element.bitcastToAPInt());
  else
    for (const llvm::APInt& element : value.getValues<llvm::APInt>()) put(element);
  return result;
}

HostTensor evaluate(ir::BroadcastOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const auto& from = operands[0]->shape;
  auto strides = rowMajor(from);
  llvm::SmallVector<std::int64_t> steps(result.shape.size(), 0);
  std::size_t lead = result.shape.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) steps[lead + i] = from[i] == 1 ? 0 : strides[i];
  copyStrided(*operands[0], 0, steps, result);
  return result;
}

HostTensor evaluate(ir::ReshapeOp operation, Operands operands) {
  HostTensor result = *operands[0];
  result.shape = ir::tensorType(operation.getType()).getShape().vec();
  return result;
}

HostTensor evaluate(ir::TransposeOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  ir::permuteBytes(operands[0]->bytes.data(), operands[0]->shape, operation.getPermutation(),
                   dtypeBytes(result.dtype), result.bytes.data());
  return result;
}

HostTensor evaluate(ir::ConcatOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  std::size_t axis = operation.getAxis(), width = dtypeBytes(result.dtype), inner = width, outer = 1;
  for (std::size_t i = axis + 1; i < result.shape.size(); ++i)
    inner *= static_cast<std::size_t>(result.shape[i]);
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(result.shape[i]);
  std::size_t row = inner * static_cast<std::size_t>(result.shape[axis]), column = 0;
  for (const HostTensor* input : operands) {
    std::size_t part = inner * static_cast<std::size_t>(input->shape[axis]);
    for (std::size_t i = 0; i < outer; ++i)
      std::copy_n(input->bytes.data() + i * part, part, result.bytes.data() + i * row + column);
    column += part;
  }
  return result;
}

HostTensor evaluate(ir::SliceOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  auto strides = rowMajor(operands[0]->shape);
  std::int64_t base = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    base += operation.getOffsets()[i] * strides[i];
    strides[i] *= operation.getStrides()[i];
  }
  copyStrided(*operands[0], base, strides, result);
  return result;
}

HostTensor evaluate(ir::GatherOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const HostTensor &input = *operands[0], &indices = *operands[1];
  std::size_t axis = operation.getAxis(), inner = dtypeBytes(result.dtype), outer = 1;
  std::int64_t extent = input.shape[axis], count = indices.elements();
  for (std::size_t i = axis + 1; i < input.shape.size(); ++i)
    inner *= static_cast<std::size_t>(input.shape[i]);
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(input.shape[i]);
  std::uint8_t* output = result.bytes.data();
  for (std::size_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < count; ++i, output += inner) {
      std::int64_t index =
          indices.dtype == DType::kI32 ? indices.data<std::int32_t>()[i] : indices.data<std::int64_t>()[i];
      index = std::clamp<std::int64_t>(index < 0 ? index + extent : index, 0, extent - 1);
      auto row = o * static_cast<std::size_t>(extent) + static_cast<std::size_t>(index);
      std::copy_n(input.bytes.data() + row * inner, inner, output);
    }
  return result;
}

HostTensor evaluate(ir::IotaOp operation, Operands) {
  HostTensor result = emptyResult(operation);
  const std::size_t axis = operation.getAxis();
  const std::int64_t extent = result.shape[axis], inner = rowMajor(result.shape)[axis];
  dispatch(result.dtype, [&]<class T>(T) {
    for (std::int64_t i = 0, n = result.elements(); i < n; ++i)
      result.data<T>()[i] = static_cast<T>(i / inner % extent);
  });
  return result;
}

namespace {

// Where position `at` of a padded dimension comes from; -1: from the padding's value.
std::int64_t padSource(ir::PadMode mode, std::int64_t at, std::int64_t extent, std::int64_t interior) {
  switch (mode) {
    case ir::PadMode::Constant:
      return at < 0 || at % (interior + 1) != 0 || at / (interior + 1) >= extent ? -1 : at / (interior + 1);
    case ir::PadMode::Edge:
      return std::clamp<std::int64_t>(at, 0, extent - 1);
    case ir::PadMode::Wrap:
      return (at % extent + extent) % extent;
    case ir::PadMode::Reflect: {
      const std::int64_t period = std::max<std::int64_t>(1, 2 * (extent - 1));
      const std::int64_t phase = (at % period + period) % period;
      return std::min(phase, period - phase) % extent;
    }
  }
  return -1;
}

}  // namespace

HostTensor evaluate(ir::PadOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const HostTensor &input = *operands[0], &value = *operands[1];
  const std::size_t rank = result.shape.size(), width = dtypeBytes(result.dtype);
  const auto strides = rowMajor(input.shape);
  // Per dimension and position, the offset in the input it contributes, or -1.
  llvm::SmallVector<std::vector<std::int64_t>> sources(rank);
  for (std::size_t dim = 0; dim < rank; ++dim)
    for (std::int64_t i = 0; i < result.shape[dim]; ++i) {
      const std::int64_t from = padSource(operation.getMode(), i - operation.getLow()[dim], input.shape[dim],
                                          operation.getInterior()[dim]);
      sources[dim].push_back(from < 0 ? -1 : from * strides[dim]);
    }
  llvm::SmallVector<std::int64_t> index(rank, 0);
  for (std::int64_t i = 0, n = result.elements(); i < n; ++i) {
    std::int64_t from = 0;
    for (std::size_t dim = 0; dim < rank && from >= 0; ++dim) {
      const std::int64_t part = sources[dim][static_cast<std::size_t>(index[dim])];
      from = part < 0 ? -1 : from + part;
    }
    const std::uint8_t* source =
        from < 0 ? value.bytes.data() : input.bytes.data() + static_cast<std::size_t>(from) * width;
    std::copy_n(source, width, result.bytes.data() + static_cast<std::size_t>(i) * width);
    for (std::size_t dim = rank; dim-- > 0;) {
      if (++index[dim] < result.shape[dim]) break;
      index[dim] = 0;
    }
  }
  return result;
}

// Its symbols are bound: every expression is a number.
HostTensor evaluate(ir::ShapeValueOp operation, Operands) {
  HostTensor result = emptyResult(operation);
  for (auto [i, expression] : llvm::enumerate(operation.getValues().getResults()))
    result.data<std::int64_t>()[i] = ir::Dim(expression).value();
  return result;
}

HostTensor evaluate(ir::TruncateOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  copyStrided(*operands[0], 0, rowMajor(operands[0]->shape), result);
  return result;
}

}  // namespace kiln::reference
