#include "compiler_core/frontend/parameters/tensor_checks.h"

#include <string_view>
#include <unordered_set>

#include "compiler_core/frontend/parameters/parameter_file.h"
#include "compiler_core/runtime/element/element.h"
#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"

namespace kiln::parameters {

std::string tensorPlace(std::string_view name) {
  return "tensor " + inQuotes(name);
}

Result<std::uint64_t> bytesOf(DType dtype, const std::vector<std::int64_t>& shape) {
  if (shape.size() > kMaxRank)
    return fail(Code::kInvalidArgument, std::to_string(shape.size()) + " dimensions; at most 64 are read");
  std::uint64_t total = dtypeBytes(dtype);
  for (const std::int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(total, static_cast<std::uint64_t>(dim), &total))
      return fail(Code::kInvalidArgument, "its shape is that of no tensor: the product does not fit 64 bits");
  }
  return total;
}

Status checkTensors(const Tensors& tensors) {
  if (tensors.size() > kMaxTensors)
    return fail(Code::kInvalidArgument,
                std::to_string(tensors.size()) + " tensors; at most 1000000 are read");
  std::unordered_set<std::string_view> names;
  for (const ir::Weight& tensor : tensors) {
    const auto wrong = [&](const std::string& what) {
      return fail(Code::kInvalidArgument, tensorPlace(tensor.name) + ": " + what);
    };
    if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes || !isPlainText(tensor.name))
      return wrong("its name is no UTF-8 of 1 to 4096 bytes without control characters");
    if (!names.insert(tensor.name).second) return wrong("the name stands there twice");
    if (const auto bad = runtime::firstInvalidElement(tensor.dtype, tensor.bytes))
      return wrong("element " + std::to_string(*bad) + " is no " + std::string(dtypeName(tensor.dtype)));
  }
  return {};
}

}  // namespace kiln::parameters
