#include "compiler_core/reference/irregular.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "compiler_core/reference/scalar.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

namespace kiln::reference {
namespace {

// Zeros, one tensor per result.
std::vector<HostTensor> zerosOf(mlir::Operation* operation) {
  std::vector<HostTensor> results;
  for (mlir::Type type : operation->getResultTypes())
    results.push_back(HostTensor::zeros(*ir::dtypeOf(ir::tensorType(type).getElementType()),
                                        ir::tensorType(type).getShape().vec()));
  return results;
}

// The order of kiln.sort: NaN is the largest and equal to itself.
template <class T>
bool before(T a, T b) {
  return a < b || (a == a && b != b);
}

// Calls f(first, step, count) for every line of `shape` along `axis`: its elements are first + i * step.
template <class F>
void forEachLine(const std::vector<std::int64_t>& shape, std::size_t axis, F f) {
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) f(o * shape[axis] * inner + i, inner, shape[axis]);
}

std::vector<std::int64_t> positions(std::int64_t count) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

// Sorted by `less`, ties by position.
template <class Less>
void sortStably(std::vector<std::int64_t>& order, Less less) {
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return less(a, b) || (!less(b, a) && a < b); });
}

}  // namespace

std::vector<HostTensor> evaluate(ir::SortOp operation, Operands operands) {
  std::vector<HostTensor> results = zerosOf(operation);
  const bool descending = operation.getDescending();
  dispatch(operands[0]->dtype, [&]<class T>(T) {
    const T* input = operands[0]->data<T>();
    forEachLine(operands[0]->shape, operation.getAxis(),
                [&](std::int64_t first, std::int64_t step, std::int64_t count) {
                  auto order = positions(count);
                  sortStably(order, [&](std::int64_t a, std::int64_t b) {
                    if (descending) std::swap(a, b);
                    return before(input[first + a * step], input[first + b * step]);
                  });
                  for (std::int64_t i = 0; i < count; ++i) {
                    const std::int64_t from = order[static_cast<std::size_t>(i)];
                    results[0].data<T>()[first + i * step] = input[first + from * step];
                    results[1].data<std::int64_t>()[first + i * step] = from;
                  }
                });
  });
  return results;
}

HostTensor evaluate(ir::ArgReduceOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const bool largest = operation.getKind() == ir::ReduceKind::Max, last = operation.getLast();
  std::int64_t* output = result.data<std::int64_t>();
  dispatch(operands[0]->dtype, [&]<class T>(T) {
    const T* input = operands[0]->data<T>();
    forEachLine(operands[0]->shape, operation.getAxis(),
                [&](std::int64_t first, std::int64_t step, std::int64_t count) {
                  std::int64_t best = 0;
                  for (std::int64_t i = 1; i < count; ++i) {
                    const T x = input[first + i * step], y = input[first + best * step];
                    const bool better = y == y && (x != x || (largest ? x > y : x < y));
                    if (better || (last && (x == y || (x != x && y != y)))) best = i;
                  }
                  *output++ = best;
                });
  });
  return result;
}

HostTensor evaluate(ir::CumulativeOp operation, Operands operands) {
  HostTensor result = emptyResult(operation);
  const bool product = operation.getKind() == ir::ReduceKind::Prod;
  dispatch(operands[0]->dtype, [&]<class T>(T) {
    // Integers wrap; sums of floats are rounded where they are written.
    using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
    const T* input = operands[0]->data<T>();
    T* output = result.data<T>();
    forEachLine(operands[0]->shape, operation.getAxis(),
                [&](std::int64_t first, std::int64_t step, std::int64_t count) {
                  Total total = product;
                  for (std::int64_t i = 0; i < count; ++i) {
                    const std::int64_t at = first + (operation.getReverse() ? count - 1 - i : i) * step;
                    const auto x = static_cast<Total>(input[at]);
                    const Total next = product ? total * x : total + x;
                    output[at] = static_cast<T>(operation.getExclusive() ? total : next);
                    total = next;
                  }
                });
  });
  return result;
}

HostTensor evaluate(ir::ScatterOp operation, Operands operands) {
  HostTensor result = *operands[0];
  const HostTensor& updates = *operands[2];
  const std::int64_t rows = result.shape[0], row = rows ? result.elements() / rows : 0;
  const std::int64_t* indices = operands[1]->data<std::int64_t>();
  for (std::int64_t n = 0; n < operands[1]->elements(); ++n) {
    if (indices[n] < 0 || indices[n] >= rows) continue;
    const std::size_t width = dtypeBytes(result.dtype);
    const auto to = static_cast<std::size_t>(indices[n] * row), from = static_cast<std::size_t>(n * row);
    if (operation.getKind() == ir::ScatterKind::Set) {
      std::copy_n(updates.bytes.data() + from * width, static_cast<std::size_t>(row) * width,
                  result.bytes.data() + to * width);
      continue;
    }
    const ir::BinaryKind kind = operation.getKind() == ir::ScatterKind::Add   ? ir::BinaryKind::Add
                                : operation.getKind() == ir::ScatterKind::Mul ? ir::BinaryKind::Mul
                                : operation.getKind() == ir::ScatterKind::Max ? ir::BinaryKind::Max
                                                                              : ir::BinaryKind::Min;
    dispatch(result.dtype, [&]<class T>(T) {
      T* target = result.data<T>() + to;
      for (std::size_t i = 0; i < static_cast<std::size_t>(row); ++i)
        target[i] = binaryScalar(kind, target[i], updates.data<T>()[from + i]);
    });
  }
  return result;
}

std::vector<HostTensor> evaluate(ir::CompressOp operation, Operands operands) {
  std::vector<HostTensor> results = zerosOf(operation);
  std::int64_t& count = *results[1].data<std::int64_t>();
  for (std::size_t i = 0; i < operands[0]->bytes.size(); ++i)
    if (operands[0]->bytes[i]) results[0].data<std::int64_t>()[count++] = static_cast<std::int64_t>(i);
  return results;
}

std::vector<HostTensor> evaluate(ir::UniqueOp operation, Operands operands) {
  std::vector<HostTensor> results = zerosOf(operation);
  const std::int64_t rows = operands[0]->shape[0], row = rows ? operands[0]->elements() / rows : 0;
  std::int64_t *indices = results[0].data<std::int64_t>(), *inverse = results[1].data<std::int64_t>(),
               *counts = results[2].data<std::int64_t>(), &count = *results[3].data<std::int64_t>();
  dispatch(operands[0]->dtype, [&]<class T>(T) {
    const T* input = operands[0]->data<T>();
    const auto less = [&](std::int64_t a, std::int64_t b) {
      return std::lexicographical_compare(input + a * row, input + (a + 1) * row, input + b * row,
                                          input + (b + 1) * row, before<T>);
    };
    // Every distinct row's members, in order of value; of occurrence is the order of first members.
    std::map<std::int64_t, std::vector<std::int64_t>, decltype(less)> groups(less);
    for (std::int64_t i = 0; i < rows; ++i) groups[i].push_back(i);
    std::vector<std::vector<std::int64_t>> ordered;
    for (auto& [_, members] : groups) ordered.push_back(members);
    if (!operation.getSorted()) std::sort(ordered.begin(), ordered.end());
    for (const auto& members : ordered) {
      indices[count] = members.front();
      counts[count] = static_cast<std::int64_t>(members.size());
      for (const std::int64_t member : members) inverse[member] = count;
      ++count;
    }
  });
  return results;
}

namespace {

struct Box {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};

template <class T>
Box boxOf(const T* at, bool center) {
  const double v[] = {static_cast<double>(at[0]), static_cast<double>(at[1]), static_cast<double>(at[2]),
                      static_cast<double>(at[3])};
  if (center) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

double intersectionOverUnion(const Box& a, const Box& b) {
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(height > 0 && width > 0)) return 0;
  const double both = a.area() + b.area() - height * width;
  return both > 0 ? height * width / both : 0;
}

}  // namespace

std::vector<HostTensor> evaluate(ir::NmsOp operation, Operands operands) {
  std::vector<HostTensor> results = zerosOf(operation);
  const auto& shape = operands[1]->shape;
  const std::int64_t most = *operands[2]->data<std::int64_t>();
  const float iou = *operands[3]->data<float>(), threshold = *operands[4]->data<float>();
  std::int64_t *selected = results[0].data<std::int64_t>(), &count = *results[1].data<std::int64_t>();
  dispatch(operands[0]->dtype, [&]<class T>(T) {
    for (std::int64_t batch = 0; batch < shape[0]; ++batch) {
      for (std::int64_t c = 0; c < shape[1]; ++c) {
        const T* scores = operands[1]->data<T>() + (batch * shape[1] + c) * shape[2];
        auto order = positions(shape[2]);
        std::erase_if(order, [&](std::int64_t i) { return !(static_cast<float>(scores[i]) > threshold); });
        sortStably(order, [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
        std::vector<Box> kept;
        for (const std::int64_t i : order) {
          if (static_cast<std::int64_t>(kept.size()) >= most) break;
          const Box box = boxOf(operands[0]->data<T>() + (batch * shape[2] + i) * 4, operation.getCenter());
          if (std::any_of(kept.begin(), kept.end(),
                          [&](const Box& other) { return intersectionOverUnion(box, other) > iou; }))
            continue;
          kept.push_back(box);
          const std::int64_t row[] = {batch, c, i};
          std::copy_n(row, 3, selected + 3 * count++);
        }
      }
    }
  });
  return results;
}

}  // namespace kiln::reference
