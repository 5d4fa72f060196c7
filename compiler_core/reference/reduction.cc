// Sums of floats are kept in f64 and rounded once: nearer to the true value than any order of f32 additions,
// so that a schedule is judged against the mathematics and not against one order. The order is row-major all
// the same.
#include <limits>

#include "compiler_core/reference/kernels.h"
#include "compiler_core/reference/scalar.h"

namespace kiln::reference {
namespace {

template <class T>
Wide<T> neutral(ir::ReduceKind kind) {
  using W = Wide<T>;
  switch (kind) {
    case ir::ReduceKind::Sum:
      return W(0);
    case ir::ReduceKind::Prod:
      return W(1);
    case ir::ReduceKind::Max:
      return lowest<W>();
    case ir::ReduceKind::Min:
      return kIsReal<T> ? W(std::numeric_limits<double>::infinity()) : std::numeric_limits<W>::max();
  }
  return W(0);
}

ir::BinaryKind combiner(ir::ReduceKind kind) {
  switch (kind) {
    case ir::ReduceKind::Sum:
      return ir::BinaryKind::Add;
    case ir::ReduceKind::Prod:
      return ir::BinaryKind::Mul;
    case ir::ReduceKind::Max:
      return ir::BinaryKind::Max;
    case ir::ReduceKind::Min:
      return ir::BinaryKind::Min;
  }
  return ir::BinaryKind::Add;
}

}  // namespace

HostTensor evaluate(ir::ReduceOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const HostTensor& input = *operands[0];
  // Steps through the input with the result's strides, 0 in reduced dimensions.
  llvm::SmallVector<std::int64_t> resultStrides = rowMajor(result.shape), steps(input.shape.size(), 0);
  std::size_t kept = 0;
  for (std::size_t dim = 0; dim < input.shape.size(); ++dim)
    if (!llvm::is_contained(operation.getAxes(), static_cast<std::int64_t>(dim)))
      steps[dim] = resultStrides[kept++];
  dispatch(result.dtype, [&]<class T>(T) {
    std::vector<Wide<T>> sums(static_cast<std::size_t>(result.elements()), neutral<T>(operation.getKind()));
    llvm::SmallVector<std::int64_t> index(input.shape.size(), 0);
    std::int64_t target = 0;
    for (std::int64_t i = 0, n = input.elements(); i < n; ++i) {
      auto& sum = sums[static_cast<std::size_t>(target)];
      sum =
          binaryScalar<Wide<T>>(combiner(operation.getKind()), sum, static_cast<Wide<T>>(input.data<T>()[i]));
      for (std::size_t dim = index.size(); dim-- > 0;) {
        target += steps[dim];
        if (++index[dim] < input.shape[dim]) break;
        target -= steps[dim] * index[dim];
        index[dim] = 0;
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) result.data<T>()[i] = static_cast<T>(sums[i]);
  });
  return result;
}

HostTensor evaluate(ir::SoftmaxOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  std::size_t axis = operation.getAxis();
  std::int64_t extent = result.shape[axis], inner = 1;
  for (std::size_t i = axis + 1; i < result.shape.size(); ++i) inner *= result.shape[i];
  dispatch(result.dtype, [&]<class T>(T) {
    if constexpr (kIsReal<T>) {
      using W = Working<T>;
      const T* input = operands[0]->data<T>();
      T* output = result.data<T>();
      std::vector<W> powers(static_cast<std::size_t>(extent));
      for (std::int64_t line = 0, n = extent ? result.elements() / extent : 0; line < n; ++line) {
        std::int64_t begin = line / inner * extent * inner + line % inner;
        W largest = lowest<W>();
        for (std::int64_t i = 0; i < extent; ++i)
          largest = binaryScalar<W>(ir::BinaryKind::Max, largest, input[begin + i * inner]);
        double sum = 0;
        for (std::int64_t i = 0; i < extent; ++i)
          sum += static_cast<double>(powers[static_cast<std::size_t>(i)] =
                                         math::exp(input[begin + i * inner] - largest));
        for (std::int64_t i = 0; i < extent; ++i)
          output[begin + i * inner] =
              static_cast<T>(static_cast<double>(powers[static_cast<std::size_t>(i)]) / sum);
      }
    }
  });
  return result;
}

}  // namespace kiln::reference
