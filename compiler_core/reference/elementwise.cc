// FloatRounding must happen where the source says: no fused a * b + c.
#include "compiler_core/reference/element.h"
#include "compiler_core/reference/kernels.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

namespace kiln::reference {

HostTensor evaluate(ir::UnaryOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  dispatch(result.dtype, [&]<class T>(T) {
    const T* input = operands[0]->data<T>();
    T* output = result.data<T>();
    for (std::int64_t i = 0, n = result.elements(); i < n; ++i)
      output[i] = unaryScalar(operation.getKind(), input[i]);
  });
  return result;
}

HostTensor evaluate(ir::BinaryOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  dispatch(result.dtype, [&]<class T>(T) {
    const T *lhs = operands[0]->data<T>(), *rhs = operands[1]->data<T>();
    T* output = result.data<T>();
    for (std::int64_t i = 0, n = result.elements(); i < n; ++i)
      output[i] = binaryScalar(operation.getKind(), lhs[i], rhs[i]);
  });
  return result;
}

HostTensor evaluate(ir::CompareOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const DType dtype = operands[0]->dtype;
  const std::int64_t count = result.elements();
  auto at = [&](const HostTensor& tensor, std::int64_t i) {
    return readElement(dtype, tensor.bytes.data() + i).real;
  };
  if (floatFormat(dtype) && dtypeBytes(dtype) == 1) {
    for (std::int64_t i = 0; i < count; ++i)
      result.bytes[static_cast<std::size_t>(i)] =
          compareScalar(operation.getKind(), at(*operands[0], i), at(*operands[1], i));
    return result;
  }
  dispatch(dtype, [&]<class T>(T) {
    const T *lhs = operands[0]->data<T>(), *rhs = operands[1]->data<T>();
    for (std::int64_t i = 0; i < count; ++i)
      result.bytes[static_cast<std::size_t>(i)] =
          compareScalar<Working<T>>(operation.getKind(), lhs[i], rhs[i]);
  });
  return result;
}

HostTensor evaluate(ir::SelectOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const std::size_t width = dtypeBytes(result.dtype);
  for (std::size_t i = 0, n = static_cast<std::size_t>(result.elements()); i < n; ++i)
    std::memcpy(result.bytes.data() + i * width,
                operands[operands[0]->bytes[i] ? 1 : 2]->bytes.data() + i * width, width);
  return result;
}

HostTensor evaluate(ir::CastOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const HostTensor& input = *operands[0];
  CastRules rules{operation.getOverflow(), FloatRounding::kNearest};
  if (auto rounding = operation.getRounding())
    rules.rounding = *rounding == ir::CastRounding::Up     ? FloatRounding::kUp
                     : *rounding == ir::CastRounding::Down ? FloatRounding::kDown
                                                           : FloatRounding::kNearest;
  const std::size_t from = dtypeBytes(input.dtype), to = dtypeBytes(result.dtype);
  for (std::size_t i = 0, n = static_cast<std::size_t>(result.elements()); i < n; ++i)
    writeElement(result.dtype, result.bytes.data() + i * to,
                 readElement(input.dtype, input.bytes.data() + i * from), rules);
  return result;
}

HostTensor evaluate(ir::BitcastOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  result.bytes = operands[0]->bytes;
  // What a byte holds beside a narrow element depends on its sign.
  if (result.dtype == DType::kI4 || result.dtype == DType::kI2 || result.dtype == DType::kU4 ||
      result.dtype == DType::kU2 || result.dtype == DType::kF4E2M1FN) {
    const unsigned width = ir::tensorType(operation.getType()).getElementType().getIntOrFloatBitWidth();
    const bool isSigned = result.dtype == DType::kI4 || result.dtype == DType::kI2;
    for (std::uint8_t& byte : result.bytes) byte = narrowByte(byte, width, isSigned);
  }
  return result;
}

HostTensor evaluate(ir::DequantiseOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const HostTensor &codes = *operands[0], &scales = *operands[1];
  const auto bits = static_cast<unsigned>(operation.getBits());
  const std::int64_t columns = codes.shape[2], bytes = codes.shape[1], each = 8 / bits;
  const std::uint8_t mask = static_cast<std::uint8_t>((1U << bits) - 1);
  float* output = result.data<float>();
  for (std::int64_t row = 0; row < result.shape[0]; ++row)
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t byte = row / each, at = byte / bytes * columns + column;
      const std::uint8_t whole = codes.bytes[static_cast<std::size_t>(byte * columns + column)];
      const float code = codes.dtype == DType::kI8 ? static_cast<float>(static_cast<std::int8_t>(whole))
                                                   : static_cast<float>(whole >> (row % each * bits) & mask);
      float zero = 0;
      if (operands.size() > 2)
        dispatch(operands[2]->dtype,
                 [&]<class T>(T) { zero = static_cast<float>(operands[2]->data<T>()[at]); });
      output[row * columns + column] = (code - zero) * scales.data<float>()[at];
    }
  return result;
}

HostTensor evaluate(ir::BatchNormOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const double epsilon = operation.getEpsilon().convertToDouble();
  const std::int64_t channels = result.shape[1];
  std::int64_t inner = 1;
  for (std::size_t i = 2; i < result.shape.size(); ++i) inner *= result.shape[i];
  dispatch(result.dtype, [&]<class T>(T) {
    const T *input = operands[0]->data<T>(), *scale = operands[1]->data<T>(),
            *offset = operands[2]->data<T>(), *mean = operands[3]->data<T>(),
            *variance = operands[4]->data<T>();
    T* output = result.data<T>();
    for (std::int64_t i = 0, n = result.elements(); i < n; ++i) {
      std::int64_t c = i / inner % channels;
      double deviation = std::sqrt(static_cast<double>(variance[c]) + epsilon);
      double centred = static_cast<double>(input[i]) - static_cast<double>(mean[c]);
      output[i] = static_cast<T>(centred / deviation * static_cast<double>(scale[c]) +
                                 static_cast<double>(offset[c]));
    }
  });
  return result;
}

}  // namespace kiln::reference
