// Rounding must happen where the source says: no fused a * b + c.
#include "compiler_core/reference/kernels.h"
#include "compiler_core/reference/scalar.h"

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
  dispatch(operands[0]->dtype, [&]<class T>(T) {
    const T *lhs = operands[0]->data<T>(), *rhs = operands[1]->data<T>();
    for (std::int64_t i = 0, n = result.elements(); i < n; ++i)
      result.bytes[static_cast<std::size_t>(i)] = compareScalar(operation.getKind(), lhs[i], rhs[i]);
  });
  return result;
}

HostTensor evaluate(ir::SelectOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  dispatch(result.dtype, [&]<class T>(T) {
    const T *onTrue = operands[1]->data<T>(), *onFalse = operands[2]->data<T>();
    T* output = result.data<T>();
    for (std::int64_t i = 0, n = result.elements(); i < n; ++i)
      output[i] = operands[0]->bytes[static_cast<std::size_t>(i)] ? onTrue[i] : onFalse[i];
  });
  return result;
}

HostTensor evaluate(ir::CastOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  dispatch(operands[0]->dtype, [&]<class From>(From) {
    const From* input = operands[0]->data<From>();
    dispatch(result.dtype, [&]<class To>(To) {
      To* output = result.data<To>();
      for (std::int64_t i = 0, n = result.elements(); i < n; ++i) output[i] = castScalar<To>(input[i]);
    });
  });
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
