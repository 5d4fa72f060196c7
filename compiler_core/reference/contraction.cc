// Matrix product, convolution, pooling. Floats are accumulated in f64 (the product of two f32 is exact there)
// and rounded once; integers wrap.
#include <algorithm>
#include <limits>

#include "compiler_core/reference/kernels.h"
#include "compiler_core/reference/scalar.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

namespace kiln::reference {
namespace {

// Window positions: one to three spatial dimensions as three, the missing ones of extent 1.
struct Window {
  static constexpr std::size_t kDims = 3;
  std::int64_t input[kDims] = {1, 1, 1}, kernel[kDims] = {1, 1, 1}, output[kDims] = {1, 1, 1};
  std::int64_t stride[kDims] = {1, 1, 1}, dilation[kDims] = {1, 1, 1}, before[kDims] = {0, 0, 0};

  Window(llvm::ArrayRef<std::int64_t> in, llvm::ArrayRef<std::int64_t> taps, llvm::ArrayRef<std::int64_t> out,
         llvm::ArrayRef<std::int64_t> strides, llvm::ArrayRef<std::int64_t> dilations,
         llvm::ArrayRef<std::int64_t> pads) {
    const std::size_t rank = in.size(), missing = kDims - rank;
    for (std::size_t i = 0; i < rank; ++i) {
      input[missing + i] = in[i];
      kernel[missing + i] = taps[i];
      output[missing + i] = out[i];
      stride[missing + i] = strides[i];
      dilation[missing + i] = dilations[i];
      before[missing + i] = pads[i];
    }
  }

  std::int64_t inputs() const { return input[0] * input[1] * input[2]; }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

  // f(output position) in row-major order.
  template <class F>
  void forEachOutput(F f) const {
    std::int64_t at[kDims];
    for (at[0] = 0; at[0] < output[0]; ++at[0])
      for (at[1] = 0; at[1] < output[1]; ++at[1])
        for (at[2] = 0; at[2] < output[2]; ++at[2]) f(at);
  }

  // f(offset in the input's plane, offset in the kernel) for every tap of the window at `at` that lies inside
  // the input, in row-major order of the kernel.
  template <class F>
  void forEachTap(const std::int64_t (&at)[kDims], F f) const {
    std::int64_t first[kDims], last[kDims], start[kDims];
    for (std::size_t i = 0; i < kDims; ++i) {
      start[i] = at[i] * stride[i] - before[i];
      first[i] = start[i] < 0 ? std::min(kernel[i], (-start[i] + dilation[i] - 1) / dilation[i]) : 0;
      last[i] = start[i] < input[i] ? std::min(kernel[i], (input[i] - 1 - start[i]) / dilation[i] + 1) : 0;
    }
    for (std::int64_t d = first[0]; d < last[0]; ++d)
      for (std::int64_t h = first[1]; h < last[1]; ++h)
        for (std::int64_t w = first[2]; w < last[2]; ++w)
          f(((start[0] + d * dilation[0]) * input[1] + start[1] + h * dilation[1]) * input[2] + start[2] +
                w * dilation[2],
            (d * kernel[1] + h) * kernel[2] + w);
  }
};

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

HostTensor evaluate(ir::AttentionOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const auto &q = operands[0]->shape, &v = operands[2]->shape;
  const std::int64_t length = q[2], size = q[3], keys = v[2], width = v[3];
  const double scale = operation.getScale().convertToDouble();
  dispatch(result.dtype, [&]<class T>(T) {
    if constexpr (kIsReal<T>) {
      std::vector<double> weights(static_cast<std::size_t>(keys));
      for (std::int64_t row = 0; row < q[0] * q[1] * length; ++row) {
        const std::int64_t head = row / length;
        const T* query = operands[0]->data<T>() + row * size;
        const T* mask = operands.size() > 3 ? operands[3]->data<T>() + row * keys : nullptr;
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::int64_t s = 0; s < keys; ++s) {
          const T* key = operands[1]->data<T>() + (head * keys + s) * size;
          double score = 0;
          for (std::int64_t e = 0; e < size; ++e)
            score += static_cast<double>(query[e]) * static_cast<double>(key[e]);
          score = score * scale + (mask ? static_cast<double>(mask[s]) : 0);
          weights[static_cast<std::size_t>(s)] = score;
          most = binaryScalar(ir::BinaryKind::Max, most, score);
        }
        // Masked everywhere: every weight is 0.
        if (std::isinf(most) && most < 0) most = 0;
        for (double& weight : weights) sum += weight = math::exp(weight - most);
        for (std::int64_t f = 0; f < width; ++f) {
          double total = 0;
          for (std::int64_t s = 0; s < keys; ++s)
            total += weights[static_cast<std::size_t>(s)] *
                     static_cast<double>(operands[2]->data<T>()[(head * keys + s) * width + f]);
          result.data<T>()[row * width + f] = static_cast<T>(sum == 0 ? 0.0 : total / sum);
        }
      }
    }
  });
  return result;
}

HostTensor evaluate(ir::ConvOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const llvm::ArrayRef<std::int64_t> x = operands[0]->shape, w = operands[1]->shape, y = result.shape;
  const Window window(x.drop_front(2), w.drop_front(2), y.drop_front(2), operation.getStrides(),
                      operation.getDilations(), operation.getPads());
  const std::int64_t perGroup = y[1] / static_cast<std::int64_t>(operation.getGroup());
  dispatch(result.dtype, [&]<class T>(T) {
    const T *input = operands[0]->data<T>(), *filter = operands[1]->data<T>();
    const T* bias = operands.size() > 2 ? operands[2]->data<T>() : nullptr;
    T* output = result.data<T>();
    for (std::int64_t n = 0; n < y[0]; ++n)
      for (std::int64_t o = 0; o < y[1]; ++o)
        window.forEachOutput([&](const auto& at) {
          Sum<T> sum = bias ? static_cast<Sum<T>>(bias[o]) : 0;
          for (std::int64_t c = 0; c < w[1]; ++c) {
            const T* plane = input + (n * x[1] + o / perGroup * w[1] + c) * window.inputs();
            const T* taps = filter + (o * w[1] + c) * window.taps();
            window.forEachTap(at, [&](std::int64_t from, std::int64_t tap) {
              sum += static_cast<Sum<T>>(plane[from]) * static_cast<Sum<T>>(taps[tap]);
            });
          }
          *output++ = static_cast<T>(sum);
        });
  });
  return result;
}

HostTensor evaluate(ir::PoolOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const llvm::ArrayRef<std::int64_t> x = operands[0]->shape, y = result.shape;
  const Window window(x.drop_front(2), operation.getKernel(), y.drop_front(2), operation.getStrides(),
                      operation.getDilations(), operation.getPads());
  const ir::PoolKind kind = operation.getKind();
  dispatch(result.dtype, [&]<class T>(T) {
    T* output = result.data<T>();
    for (std::int64_t plane = 0; plane < y[0] * y[1]; ++plane) {
      const T* input = operands[0]->data<T>() + plane * window.inputs();
      window.forEachOutput([&](const auto& at) {
        Sum<T> sum = 0;
        std::int64_t count = 0;
        T largest = lowest<T>();
        window.forEachTap(at, [&](std::int64_t from, std::int64_t) {
          sum += static_cast<Sum<T>>(input[from]);
          largest = binaryScalar(ir::BinaryKind::Max, largest, input[from]);
          ++count;
        });
        if (operation.getCountPadding()) count = window.taps();
        if (kind == ir::PoolKind::Average) sum /= static_cast<Sum<T>>(count);
        *output++ = kind == ir::PoolKind::Max ? largest : static_cast<T>(sum);
      });
    }
  });
  return result;
}

}  // namespace kiln::reference
