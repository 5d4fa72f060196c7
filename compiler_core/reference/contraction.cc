// Matrix product, convolution, pooling. Floats are accumulated in f64 (the product of two f32 is exact there)
// and rounded once; integers wrap.
#include <limits>

#include "compiler_core/reference/kernels.h"
#include "compiler_core/reference/scalar.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

namespace kiln::reference {
namespace {

// The positions [first, last) of a window of `kernel` taps at `start` (may be negative) that lie inside the
// input.
struct Taps {
  std::int64_t first, last;
};
Taps taps(std::int64_t start, std::int64_t kernel, std::int64_t dilation, std::int64_t extent) {
  Taps result{0, 0};
  while (result.first < kernel && start + result.first * dilation < 0) ++result.first;
  result.last = result.first;
  while (result.last < kernel && start + result.last * dilation < extent) ++result.last;
  return result;
}

}  // namespace

HostTensor evaluate(ir::MatmulOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  std::size_t rank = result.shape.size();
  const std::int64_t rows = result.shape[rank - 2], columns = result.shape[rank - 1],
                     depth = operands[0]->shape[rank - 1];
  const std::int64_t batches = rows * columns > 0 ? result.elements() / (rows * columns) : 0;
  dispatch(result.dtype, [&]<class T>(T) {
    for (std::int64_t b = 0; b < batches; ++b) {
      const T *lhs = operands[0]->data<T>() + b * rows * depth,
              *rhs = operands[1]->data<T>() + b * depth * columns;
      T* output = result.data<T>() + b * rows * columns;
      for (std::int64_t m = 0; m < rows; ++m)
        for (std::int64_t n = 0; n < columns; ++n) {
          Sum<T> sum = 0;
          for (std::int64_t k = 0; k < depth; ++k)
            sum += static_cast<Sum<T>>(lhs[m * depth + k]) * static_cast<Sum<T>>(rhs[k * columns + n]);
          output[m * columns + n] = static_cast<T>(sum);
        }
    }
  });
  return result;
}

HostTensor evaluate(ir::ConvOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const auto &x = operands[0]->shape, &w = operands[1]->shape, &y = result.shape;
  auto strides = operation.getStrides(), pads = operation.getPads(), dilations = operation.getDilations();
  const std::int64_t perGroup = y[1] / static_cast<std::int64_t>(operation.getGroup());
  dispatch(result.dtype, [&]<class T>(T) {
    const T *input = operands[0]->data<T>(), *filter = operands[1]->data<T>();
    const T* bias = operands.size() > 2 ? operands[2]->data<T>() : nullptr;
    T* output = result.data<T>();
    for (std::int64_t n = 0; n < y[0]; ++n)
      for (std::int64_t o = 0; o < y[1]; ++o)
        for (std::int64_t h = 0; h < y[2]; ++h) {
          std::int64_t top = h * strides[0] - pads[0];
          Taps vertical = taps(top, w[2], dilations[0], x[2]);
          for (std::int64_t v = 0; v < y[3]; ++v) {
            std::int64_t left = v * strides[1] - pads[1];
            Taps horizontal = taps(left, w[3], dilations[1], x[3]);
            Sum<T> sum = bias ? static_cast<Sum<T>>(bias[o]) : 0;
            for (std::int64_t c = 0; c < w[1]; ++c) {
              const T* plane = input + (n * x[1] + o / perGroup * w[1] + c) * x[2] * x[3];
              const T* window = filter + (o * w[1] + c) * w[2] * w[3];
              for (std::int64_t i = vertical.first; i < vertical.last; ++i)
                for (std::int64_t j = horizontal.first; j < horizontal.last; ++j)
                  sum +=
                      static_cast<Sum<T>>(plane[(top + i * dilations[0]) * x[3] + left + j * dilations[1]]) *
                      static_cast<Sum<T>>(window[i * w[3] + j]);
            }
            *output++ = static_cast<T>(sum);
          }
        }
  });
  return result;
}

HostTensor evaluate(ir::PoolOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const auto &x = operands[0]->shape, &y = result.shape;
  auto kernel = operation.getKernel(), strides = operation.getStrides(), pads = operation.getPads(),
       dilations = operation.getDilations();
  const bool isMax = operation.getKind() == ir::PoolKind::Max;
  dispatch(result.dtype, [&]<class T>(T) {
    T* output = result.data<T>();
    for (std::int64_t plane = 0; plane < y[0] * y[1]; ++plane) {
      const T* input = operands[0]->data<T>() + plane * x[2] * x[3];
      for (std::int64_t h = 0; h < y[2]; ++h) {
        std::int64_t top = h * strides[0] - pads[0];
        Taps vertical = taps(top, kernel[0], dilations[0], x[2]);
        for (std::int64_t v = 0; v < y[3]; ++v) {
          std::int64_t left = v * strides[1] - pads[1];
          Taps horizontal = taps(left, kernel[1], dilations[1], x[3]);
          double sum = 0;
          T largest = lowest<T>();
          for (std::int64_t i = vertical.first; i < vertical.last; ++i)
            for (std::int64_t j = horizontal.first; j < horizontal.last; ++j) {
              T value = input[(top + i * dilations[0]) * x[3] + left + j * dilations[1]];
              sum += static_cast<double>(value);
              largest = binaryScalar(ir::BinaryKind::Max, largest, value);
            }
          std::int64_t count = operation.getCountPadding()
                                   ? kernel[0] * kernel[1]
                                   : (vertical.last - vertical.first) * (horizontal.last - horizontal.first);
          *output++ = isMax ? largest : static_cast<T>(sum / static_cast<double>(count));
        }
      }
    }
  });
  return result;
}

}  // namespace kiln::reference
