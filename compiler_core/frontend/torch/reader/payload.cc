#include "compiler_core/frontend/torch/reader/payload.h"

#include <algorithm>
#include <cstring>

#include "compiler_core/frontend/torch/reader/members.h"
#include "manifest/base/printable.h"

namespace kiln::torch {
namespace {

constexpr std::size_t kMaxTensors = 1'000'000, kMaxRank = 64;

// What the table says of a tensor; counts are in elements.
struct Layout {
  ScalarType type = 0;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
};

Result<std::int64_t> numberOf(const Json& json) {
  KILN_ASSIGN(const Expression expression, asSymInt(json));
  if (expression.kind != Expression::Kind::kInteger || expression.value < 0)
    return malformed("its sizes, strides and offset are no natural numbers");
  return expression.value;
}

Result<std::vector<std::int64_t>> numbersOf(const Json& object, std::string_view name) {
  KILN_ASSIGN(const Json* list, arrayOf(object, name));
  if (list->size() > kMaxRank) return malformed("more than 64 dimensions");
  std::vector<std::int64_t> out;
  for (const Json& one : *list) {
    KILN_ASSIGN(const std::int64_t number, numberOf(one));
    out.push_back(number);
  }
  return out;
}

Result<Layout> readLayout(const Json& meta) {
  constexpr std::int64_t kStrided = 7;  // Layout.Strided
  Layout out;
  KILN_ASSIGN(out.type, integerOf(meta, "dtype"));
  KILN_ASSIGN(out.sizes, numbersOf(meta, "sizes"));
  KILN_ASSIGN(out.strides, numbersOf(meta, "strides"));
  KILN_ASSIGN(const Json* offset, objectOf(meta, "storage_offset"));
  KILN_ASSIGN(out.offset, numberOf(*offset));
  KILN_ASSIGN(const std::int64_t layout, integerOf(meta, "layout"));
  if (layout != kStrided) return fail(Code::kUnimplemented, "sparse and other layouts are not served");
  if (out.strides.size() != out.sizes.size()) return malformed("it has other strides than sizes");
  return out;
}

// The number of elements, and one more than the last element's place; 0 where there are none.
struct Reach {
  std::int64_t elements = 1, end = 0;
};
Result<Reach> reachOf(const Layout& layout) {
  Reach reach;
  std::int64_t last = layout.offset;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    std::int64_t along = 0;
    if (__builtin_mul_overflow(reach.elements, layout.sizes[i], &reach.elements) ||
        __builtin_mul_overflow(std::max<std::int64_t>(layout.sizes[i] - 1, 0), layout.strides[i], &along) ||
        __builtin_add_overflow(last, along, &last))
      return malformed("its shape is that of no tensor");
  }
  if (reach.elements > 0 && __builtin_add_overflow(last, 1, &reach.end))
    return malformed("its shape is that of no tensor");
  return reach;
}

bool isDense(const Layout& layout) {
  std::int64_t stride = 1;
  for (std::size_t i = layout.sizes.size(); i-- > 0;) {
    if (layout.sizes[i] != 1 && layout.strides[i] != stride) return false;
    stride *= layout.sizes[i];
  }
  return true;
}

// Whether no two elements share bytes: from the smallest stride on each steps over all that lie below.
bool isApart(const Layout& layout) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i)
    if (layout.sizes[i] > 1) dims.emplace_back(layout.strides[i], layout.sizes[i]);
  std::ranges::sort(dims);
  std::int64_t below = 1;
  for (const auto& [stride, size] : dims) {
    if (stride < below) return false;
    below = stride * (size - 1) + below;
  }
  return true;
}

// Row-major elements from strided ones, which lie in `file` and apart.
std::shared_ptr<std::vector<std::uint8_t>> gathered(const Layout& layout, std::int64_t elements, Bytes file,
                                                    std::size_t width) {
  auto out = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(elements) * width);
  std::vector<std::int64_t> index(layout.sizes.size());
  std::int64_t from = layout.offset;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::memcpy(out->data() + static_cast<std::size_t>(i) * width,
                file.data() + static_cast<std::size_t>(from) * width, width);
    for (std::size_t d = index.size(); d-- > 0;) {
      from += layout.strides[d];
      if (++index[d] < layout.sizes[d]) break;
      from -= layout.strides[d] * layout.sizes[d];
      index[d] = 0;
    }
  }
  return out;
}

Status checkElements(DType dtype, Bytes bytes) {
  if (dtype == DType::kBool && std::ranges::any_of(bytes, [](std::uint8_t byte) { return byte > 1; }))
    return malformed("an element is neither true nor false");
  return {};
}

Result<Tensor> readTensor(const Json& entry, const PayloadFiles& files) {
  KILN_ASSIGN(const std::string path, textOf(entry, "path_name"));
  KILN_ASSIGN(const bool isPickled, flagOf(entry, "use_pickle"));
  if (isPickled)
    return fail(Code::kUnimplemented,
                "it is pickled (a subclass of torch.Tensor or an object of Python), which is never unpickled "
                "here; make it a plain tensor and save the program again");
  KILN_ASSIGN(const Json* meta, objectOf(entry, "tensor_meta"));
  KILN_ASSIGN(const Layout layout, readLayout(*meta));
  const auto dtype = dtypeOf(layout.type);
  if (!dtype)
    return fail(Code::kUnimplemented, "element type " + scalarTypeName(layout.type) + " is not served");
  KILN_ASSIGN(const Reach reach, reachOf(layout));
  KILN_ASSIGN(const PayloadFile file, files(path));
  const std::size_t width = dtypeBytes(*dtype);
  const auto held = static_cast<std::int64_t>(file.bytes.size() / width);
  Tensor out{*dtype, layout.sizes, {}, nullptr};
  if (reach.elements == 0) return out;
  if (reach.end > held)
    return malformed("it takes " + std::to_string(reach.end) + " elements of file " + inQuotes(path) +
                     ", which holds " + std::to_string(held));
  if (isDense(layout)) {
    out.bytes = file.bytes.subspan(static_cast<std::size_t>(layout.offset) * width,
                                   static_cast<std::size_t>(reach.elements) * width);
    out.owner = file.owner;
  } else {
    if (!isApart(layout))
      return fail(Code::kUnimplemented,
                  "elements of it share memory (an expanded tensor); make it contiguous() and save again");
    auto copy = gathered(layout, reach.elements, file.bytes, width);
    out.bytes = *copy;
    out.owner = std::move(copy);
  }
  KILN_TRY(checkElements(*dtype, out.bytes));
  return out;
}

}  // namespace

Status readPayload(const Json& table, const PayloadFiles& files,
                   std::map<std::string, Tensor, std::less<>>& out) {
  KILN_ASSIGN(const Json* config, objectOf(table, "config"));
  if (config->size() > kMaxTensors) return malformed("more than 1000000 tensors");
  for (const auto& [name, entry] : config->items()) {
    auto tensor = readTensor(entry, files);
    if (!tensor) return fail(tensor.error().in("tensor " + inQuotes(name)));
    if (!out.emplace(name, std::move(*tensor)).second)
      return malformed("tensor " + inQuotes(name) + " stands there twice");
  }
  return {};
}

}  // namespace kiln::torch
