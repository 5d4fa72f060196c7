#include "compiler_core/runtime/batch/batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "compiler_core/runtime/element/element.h"

namespace kiln::runtime {
namespace {

std::size_t elementsOf(const npy::Tensor& tensor) {
  return tensor.data.size() / dtypeBytes(tensor.dtype);
}

// A dimension of -1 takes any size.
bool matches(std::span<const std::int64_t> given, std::span<const std::int64_t> expected) {
  return std::equal(given.begin(), given.end(), expected.begin(), expected.end(),
                    [](std::int64_t have, std::int64_t want) { return want == -1 || have == want; });
}

bool hasTail(const std::vector<std::int64_t>& given, const std::vector<std::int64_t>& expected,
             std::size_t skip) {
  return !given.empty() && matches(std::span(given).subspan(1), std::span(expected).subspan(skip));
}

}  // namespace

std::string describe(DType dtype, const std::vector<std::int64_t>& shape) {
  return fmt::format("{} [{}]", dtypeName(dtype), fmt::join(shape, ","));
}

std::string describe(const TensorSpec& spec) {
  std::vector<std::string> dims;
  for (std::size_t i = 0; i < spec.shape.size(); ++i)
    dims.push_back(spec.shape[i] == -1 ? spec.dims[i] : std::to_string(spec.shape[i]));
  return fmt::format("{} [{}]", dtypeName(spec.dtype), fmt::join(dims, ","));
}

const TensorSpec* givenInput(std::string_view argument, const std::vector<TensorSpec>& inputs) {
  const TensorSpec* found = nullptr;
  for (const TensorSpec& input : inputs)
    if (argument.starts_with(input.name + "=") &&
        (found == nullptr || input.name.size() > found->name.size()))
      found = &input;
  return found;
}

Status checkInput(const TensorSpec& expected, const npy::Tensor& given) {
  if (given.dtype == expected.dtype && matches(given.shape, expected.shape)) return {};
  const bool each = given.dtype == expected.dtype && countEach(expected, given).has_value();
  return fail(Code::kInvalidArgument,
              fmt::format("input \"{}\": expected {}, given {}{}", expected.name, describe(expected),
                          describe(given.dtype, given.shape), each ? "; --each runs once per element" : ""));
}

Result<std::size_t> countEach(const TensorSpec& expected, const npy::Tensor& given) {
  const bool before = hasTail(given.shape, expected.shape, 0);
  const bool instead = !expected.shape.empty() && (expected.shape[0] == 1 || expected.shape[0] == -1) &&
                       hasTail(given.shape, expected.shape, 1);
  if (given.dtype == expected.dtype && (before || instead)) return static_cast<std::size_t>(given.shape[0]);
  return fail(Code::kInvalidArgument,
              fmt::format("input \"{}\": expected {} with a leading axis for --each, given {}", expected.name,
                          describe(expected), describe(given.dtype, given.shape)));
}

npy::Tensor elementOf(const TensorSpec& expected, const npy::Tensor& given, std::size_t i) {
  const auto bytes = given.data.size() / static_cast<std::size_t>(given.shape[0]);
  const auto begin = given.data.begin() + static_cast<std::ptrdiff_t>(i * bytes);
  std::vector<std::int64_t> shape(given.shape.begin() + 1, given.shape.end());
  if (shape.size() < expected.shape.size()) shape.insert(shape.begin(), 1);
  return {expected.dtype, std::move(shape), {begin, begin + static_cast<std::ptrdiff_t>(bytes)}};
}

Status stack(npy::Tensor& stacked, const npy::Tensor& one, std::size_t count) {
  if (stacked.shape.empty()) {  // the first: stacked, it has an axis at least
    stacked.dtype = one.dtype;
    stacked.shape = one.shape;
    if (stacked.shape.empty() || stacked.shape[0] != 1) stacked.shape.insert(stacked.shape.begin(), 1);
    stacked.shape[0] = static_cast<std::int64_t>(count);
    stacked.data.reserve(one.data.size() * count);
  }
  const auto own = std::span(one.shape).subspan(!one.shape.empty() && one.shape[0] == 1 ? 1 : 0);
  if (!matches(own, std::span(stacked.shape).subspan(1))) {
    return fail(Code::kInvalidArgument, "--each: the runs' outputs differ in shape, " +
                                            describe(one.dtype, one.shape) + " after others");
  }
  stacked.data.insert(stacked.data.end(), one.data.begin(), one.data.end());
  return {};
}

double valueAt(const npy::Tensor& tensor, std::size_t i) {
  return static_cast<double>(elementValue(tensor.dtype, tensor.data.data() + i * dtypeBytes(tensor.dtype)));
}

Result<std::vector<std::int64_t>> predictions(const npy::Tensor& output) {
  const std::size_t columns = output.shape.empty() ? 1 : static_cast<std::size_t>(output.shape.back());
  std::vector<std::int64_t> best;
  if (columns == 0) return best;
  for (std::size_t row = 0; row < elementsOf(output) / columns; ++row) {
    std::size_t at = 0;
    double largest = 0;
    for (std::size_t column = 0; column < columns; ++column) {
      const double value = valueAt(output, row * columns + column);
      if (column == 0 || value > largest) {
        largest = value;
        at = column;
      }
    }
    best.push_back(static_cast<std::int64_t>(at));
  }
  return best;
}

Result<std::vector<std::int64_t>> labelsOf(const npy::Tensor& labels) {
  if (!holdsIntegers(labels.dtype))
    return fail(Code::kInvalidArgument,
                "labels must be integers, given " + describe(labels.dtype, labels.shape));
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < elementsOf(labels); ++i)
    values.push_back(static_cast<std::int64_t>(valueAt(labels, i)));
  return values;
}

}  // namespace kiln::runtime
