#include "compiler_core/runtime/session/guards.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "compiler_core/runtime/element/element.h"

namespace kiln::runtime {
namespace {

std::string wantedText(const TensorInfo& info) {
  std::string text(dtypeName(info.dtype));
  for (std::size_t i = 0; i < info.shape.size(); ++i) text += (i == 0 ? "[" : ",") + info.shape[i].text();
  return text + (info.shape.empty() ? "[]" : "]");
}

// The tensors of a call in the manifest's order; each of them once.
template <class Tensor>
Result<std::vector<Tensor*>> byName(const char* kind, const std::vector<TensorInfo>& wanted,
                                    std::span<Tensor> given) {
  std::vector<Tensor*> bound(wanted.size(), nullptr);
  for (Tensor& tensor : given) {
    if (tensor.name == nullptr)
      return fail(Code::kInvalidArgument, std::string("an ") + kind + " has no name");
    const auto info = std::find_if(wanted.begin(), wanted.end(),
                                   [&](const TensorInfo& one) { return one.name == tensor.name; });
    if (info == wanted.end()) {
      std::string known;
      for (const TensorInfo& one : wanted) known += (known.empty() ? "\"" : ", \"") + one.name + "\"";
      return fail(Code::kInvalidArgument, std::string("there is no ") + kind + " \"" + tensor.name +
                                              "\"; there is " + (known.empty() ? "none" : known));
    }
    Tensor*& place = bound[static_cast<std::size_t>(info - wanted.begin())];
    if (place != nullptr) {
      return fail(Code::kInvalidArgument, std::string(kind) + " \"" + tensor.name + "\" is given twice");
    }
    place = &tensor;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (bound[i] == nullptr) {
      return fail(Code::kInvalidArgument, std::string(kind) + " \"" + wanted[i].name + "\": expected " +
                                              wantedText(wanted[i]) + ", given nothing");
    }
  }
  return bound;
}

// Where a symbol got its value, for messages.
struct Binding {
  std::int64_t value = 0;
  std::string place;
};
using Bindings = std::map<std::string, Binding, std::less<>>;

// One input's type and shape against the manifest's; binds the symbols among its dimensions.
Status bindShape(const TensorInfo& want, const kiln_tensor& given, Bindings& bindings) {
  const std::string place = "input \"" + want.name + "\"";
  if (given.dtype == nullptr || (given.rank != 0 && given.shape == nullptr)) {
    return fail(Code::kInvalidArgument, place + ": given without element type or shape");
  }
  const std::span<const std::int64_t> shape(given.shape, given.rank);
  const std::string difference = place + ": expected " + wantedText(want) + ", given " +
                                 shapeText(given.dtype, shape.first(std::min<std::size_t>(given.rank, 64)));
  if (given.dtype != dtypeName(want.dtype))
    return fail(Code::kInvalidArgument, difference + "; convert the tensor");
  if (shape.size() != want.shape.size()) return fail(Code::kOutOfRange, difference);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Dim& dim = want.shape[i];
    if (dim.isStatic() ? shape[i] != dim.value : shape[i] < 0) return fail(Code::kOutOfRange, difference);
    if (dim.isStatic()) continue;
    const std::string where = place + " dimension " + std::to_string(i);
    const auto [bound, first] = bindings.try_emplace(dim.expression, Binding{shape[i], where});
    if (first || bound->second.value == shape[i]) continue;
    return fail(Code::kOutOfRange, where + ": " + dim.expression + " is " + std::to_string(shape[i]) +
                                       ", but " + std::to_string(bound->second.value) + " at " +
                                       bound->second.place + "; give both the same size");
  }
  return {};
}

Status checkBuffer(const TensorInfo& info, const kiln_tensor& given) {
  const auto bytes = tensorBytes(info.dtype, {given.shape, given.rank});
  const std::string place = "input \"" + info.name + "\": ";
  if (!bytes) return fail(Code::kInvalidArgument, place + "its shape is larger than memory can be");
  if (given.bytes != *bytes || (*bytes != 0 && given.data == nullptr)) {
    return fail(Code::kInvalidArgument, place + "the buffer has " + std::to_string(given.bytes) + " bytes, " +
                                            std::to_string(*bytes) + " are needed");
  }
  return {};
}

// An element of a type that holds integers; one beyond 2^63 is as far outside every range as the largest.
std::int64_t integerAt(const TensorInfo& info, const kiln_tensor& tensor, std::int64_t index) {
  const auto offset = static_cast<std::size_t>(index) * dtypeBytes(info.dtype);
  const long double value = elementValue(info.dtype, static_cast<const std::uint8_t*>(tensor.data) + offset);
  return value > static_cast<long double>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(value);
}

Status checkValues(const TensorInfo& info, const kiln_tensor& given, const CompileSpec& spec) {
  const std::size_t count = given.bytes / dtypeBytes(info.dtype);
  if (const auto bad =
          firstInvalidElement(info.dtype, {static_cast<const std::uint8_t*>(given.data), given.bytes})) {
    return fail(Code::kInvalidArgument, "input \"" + info.name + "\": element " + std::to_string(*bad) +
                                            " is no " + std::string(dtypeName(info.dtype)));
  }
  const auto pin = spec.pins.find(info.name);
  if (pin == spec.pins.end()) return {};
  const auto wanted = pinBytes(info.dtype, pin->second);
  if (!wanted) return fail(Code::kDataLoss, "input \"" + info.name + "\": pin: " + wanted.error().message);
  if (wanted->size() == given.bytes &&
      (wanted->empty() || std::memcmp(wanted->data(), given.data, wanted->size()) == 0))
    return {};
  const auto values = pinValues(info.dtype, given.data, std::min<std::size_t>(count, 17));
  return fail(Code::kOutOfRange, "input \"" + info.name + "\": the artifact was built for the value " +
                                     pinListText(pin->second) + ", given " + pinListText(values) +
                                     "; build one for this value");
}

struct Range {
  std::uintptr_t begin;
  std::size_t bytes;
};

bool overlap(const Range& a, const Range& b) {
  return a.bytes != 0 && b.bytes != 0 && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

}  // namespace

Result<BoundInputs> bindInputs(const Manifest& manifest, std::span<const kiln_tensor> inputs) {
  BoundInputs bound;
  KILN_ASSIGN(bound.tensors, byName("input", manifest.inputs, inputs));
  Bindings bindings;
  for (std::size_t i = 0; i < bound.tensors.size(); ++i) {
    KILN_TRY(bindShape(manifest.inputs[i], *bound.tensors[i], bindings));
  }
  for (const Symbol& symbol : manifest.symbols) {
    if (!symbol.element) {
      bound.symbols.push_back(bindings.find(symbol.name)->second.value);
      continue;
    }
    const auto input = std::find_if(manifest.inputs.begin(), manifest.inputs.end(),
                                    [&](const TensorInfo& info) { return info.name == symbol.input; });
    const kiln_tensor& tensor = *bound.tensors[static_cast<std::size_t>(input - manifest.inputs.begin())];
    KILN_TRY(checkBuffer(*input, tensor));
    bound.symbols.push_back(integerAt(*input, tensor, symbol.index));
  }
  return bound;
}

Status checkContents(const Manifest& manifest, const BoundInputs& inputs) {
  for (std::size_t i = 0; i < inputs.tensors.size(); ++i) {
    KILN_TRY(checkBuffer(manifest.inputs[i], *inputs.tensors[i]));
    KILN_TRY(checkValues(manifest.inputs[i], *inputs.tensors[i], manifest.spec));
  }
  return {};
}

Result<std::vector<kiln_output*>> bindOutputs(const Manifest& manifest, std::span<kiln_output> outputs) {
  KILN_ASSIGN(std::vector<kiln_output*> bound, byName("output", manifest.outputs, outputs));
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const TensorInfo& want = manifest.outputs[i];
    const kiln_output& given = *bound[i];
    const std::string expected = "output \"" + want.name + "\": expected " + wantedText(want);
    if (given.dtype == nullptr || given.dtype != dtypeName(want.dtype)) {
      return fail(Code::kInvalidArgument,
                  expected + ", given element type " + (given.dtype == nullptr ? "none" : given.dtype));
    }
    if (given.rank != want.shape.size() || (given.rank != 0 && given.shape == nullptr)) {
      return fail(Code::kInvalidArgument, expected + ", given room for " +
                                              std::to_string(given.shape == nullptr ? 0 : given.rank) +
                                              " dimensions");
    }
  }
  return bound;
}

Status checkOverlap(const BoundInputs& inputs, const std::vector<kiln_output*>& outputs) {
  const auto range = [](const void* data, std::size_t bytes) {
    return Range{reinterpret_cast<std::uintptr_t>(data), bytes};
  };
  std::vector<Range> others;
  for (const kiln_tensor* input : inputs.tensors) others.push_back(range(input->data, input->bytes));
  for (const kiln_output* output : outputs) {
    const Range mine = range(output->data, output->bytes);
    if (std::any_of(others.begin(), others.end(), [&](const Range& other) { return overlap(mine, other); })) {
      return fail(Code::kInvalidArgument,
                  std::string("output \"") + output->name + "\" overlaps another buffer of the call");
    }
    others.push_back(mine);
  }
  return {};
}

std::optional<std::uint64_t> tensorBytes(DType dtype, std::span<const std::int64_t> shape) {
  std::uint64_t bytes = dtypeBytes(dtype);
  for (const std::int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dim), &bytes) ||
        bytes >> 62 != 0) {
      return std::nullopt;
    }
  }
  return bytes;
}

std::string shapeText(std::string_view dtype, std::span<const std::int64_t> shape) {
  std::string text(dtype);
  text += '[';
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ',';
    text += std::to_string(shape[i]);
  }
  return text + ']';
}

Status checkTensorSizes(const Manifest& manifest) {
  for (const auto* tensors : {&manifest.inputs, &manifest.outputs}) {
    for (const TensorInfo& tensor : *tensors) {
      std::vector<std::int64_t> fixed;
      for (const Dim& dim : tensor.shape) fixed.push_back(dim.isStatic() ? dim.value : 1);
      if (!tensorBytes(tensor.dtype, fixed)) {
        return fail(Code::kDataLoss, "the manifest's tensor \"" + tensor.name + "\" has no sane size");
      }
    }
  }
  return {};
}

}  // namespace kiln::runtime
