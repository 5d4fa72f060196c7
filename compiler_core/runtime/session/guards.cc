#include "compiler_core/runtime/session/guards.h"

#include <cstring>
#include <string>

namespace kiln::runtime {
namespace {

std::string shapeText(std::string_view dtype, std::span<const std::int64_t> shape) {
  std::string text(dtype);
  text += '[';
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ',';
    text += std::to_string(shape[i]);
  }
  return text + ']';
}

std::string profileText(const CompileSpec& spec) {
  std::string text;
  for (const ShapeProfile& profile : spec.profiles) {
    text += (text.empty() ? "" : "; ") + profile.name;
    for (const auto& [dim, range] : profile.dims) text += " " + dim + "=" + std::to_string(range.opt);
  }
  return text;
}

// One tensor of a call against the manifest's.
Status check(const char* kind, const TensorInfo& want, const kiln_tensor& given, const CompileSpec& spec) {
  const std::string place = std::string(kind) + " \"" + want.name + "\": ";
  if (given.dtype == nullptr || (given.rank != 0 && given.shape == nullptr)) {
    return fail(Code::kInvalidArgument, place + "given without element type or shape");
  }
  const std::span<const std::int64_t> shape(given.shape, given.rank);
  const std::string difference = place + "expected " + shapeText(dtypeName(want.dtype), want.shape) +
                                 ", given " +
                                 shapeText(given.dtype, shape.first(std::min<std::size_t>(given.rank, 64)));
  if (given.dtype != dtypeName(want.dtype))
    return fail(Code::kInvalidArgument, difference + "; convert the tensor");
  if (!std::equal(shape.begin(), shape.end(), want.shape.begin(), want.shape.end())) {
    return fail(Code::kOutOfRange, difference + "; the artifact serves the profiles: " + profileText(spec));
  }
  const std::uint64_t bytes = tensorBytes(want);
  if (given.bytes != bytes || (bytes != 0 && given.data == nullptr)) {
    return fail(Code::kInvalidArgument, place + "the buffer has " + std::to_string(given.bytes) + " bytes, " +
                                            std::to_string(bytes) + " are needed");
  }
  return {};
}

Status bindAll(const char* kind, const std::vector<TensorInfo>& wanted, std::span<const kiln_tensor> given,
               const CompileSpec& spec, std::vector<const kiln_tensor*>& bound) {
  bound.assign(wanted.size(), nullptr);
  for (const kiln_tensor& tensor : given) {
    if (tensor.name == nullptr)
      return fail(Code::kInvalidArgument, std::string("an ") + kind + " has no name");
    std::size_t index = 0;
    while (index < wanted.size() && wanted[index].name != tensor.name) ++index;
    if (index == wanted.size()) {
      std::string known;
      for (const TensorInfo& info : wanted) known += (known.empty() ? "\"" : ", \"") + info.name + "\"";
      return fail(Code::kInvalidArgument, std::string("there is no ") + kind + " \"" + tensor.name +
                                              "\"; there is " + (known.empty() ? "none" : known));
    }
    if (bound[index] != nullptr) {
      return fail(Code::kInvalidArgument, std::string(kind) + " \"" + tensor.name + "\" is given twice");
    }
    bound[index] = &tensor;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (bound[i] == nullptr) {
      return fail(Code::kInvalidArgument, std::string(kind) + " \"" + wanted[i].name + "\": expected " +
                                              shapeText(dtypeName(wanted[i].dtype), wanted[i].shape) +
                                              ", given nothing");
    }
    KILN_TRY(check(kind, wanted[i], *bound[i], spec));
  }
  return {};
}

Status checkValues(const TensorInfo& info, const kiln_tensor& given, const CompileSpec& spec) {
  const std::size_t count = given.bytes / dtypeBytes(info.dtype);
  if (info.dtype == DType::kBool) {
    for (std::size_t i = 0; i < count; ++i) {
      if (static_cast<const std::uint8_t*>(given.data)[i] > 1) {
        return fail(Code::kInvalidArgument, "input \"" + info.name + "\": element " + std::to_string(i) +
                                                " of a bool tensor is neither 0 nor 1");
      }
    }
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

bool overlap(const kiln_tensor& a, const kiln_tensor& b) {
  const auto x = reinterpret_cast<std::uintptr_t>(a.data), y = reinterpret_cast<std::uintptr_t>(b.data);
  return a.bytes != 0 && b.bytes != 0 && x < y + b.bytes && y < x + a.bytes;
}

Status checkOverlap(const BoundTensors& bound) {
  for (std::size_t i = 0; i < bound.outputs.size(); ++i) {
    const kiln_tensor& output = *bound.outputs[i];
    bool clash = false;
    for (const kiln_tensor* input : bound.inputs) clash = clash || overlap(output, *input);
    for (std::size_t j = 0; j < i; ++j) clash = clash || overlap(output, *bound.outputs[j]);
    if (clash) {
      return fail(Code::kInvalidArgument,
                  std::string("output \"") + output.name + "\" overlaps another buffer of the call");
    }
  }
  return {};
}

}  // namespace

Result<BoundTensors> bind(const Manifest& manifest, std::span<const kiln_tensor> inputs,
                          std::span<const kiln_tensor> outputs) {
  BoundTensors bound;
  KILN_TRY(bindAll("input", manifest.inputs, inputs, manifest.spec, bound.inputs));
  KILN_TRY(bindAll("output", manifest.outputs, outputs, manifest.spec, bound.outputs));
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    KILN_TRY(checkValues(manifest.inputs[i], *bound.inputs[i], manifest.spec));
  }
  KILN_TRY(checkOverlap(bound));
  return bound;
}

std::uint64_t tensorBytes(const TensorInfo& tensor) {
  std::uint64_t bytes = dtypeBytes(tensor.dtype);
  for (const std::int64_t dim : tensor.shape) bytes *= static_cast<std::uint64_t>(dim);
  return bytes;
}

Status checkTensorSizes(const Manifest& manifest) {
  for (const auto* tensors : {&manifest.inputs, &manifest.outputs}) {
    for (const TensorInfo& tensor : *tensors) {
      std::uint64_t bytes = dtypeBytes(tensor.dtype);
      for (const std::int64_t dim : tensor.shape) {
        if (dim < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dim), &bytes) ||
            bytes >> 62 != 0) {
          return fail(Code::kDataLoss, "the manifest's tensor \"" + tensor.name + "\" has no sane size");
        }
      }
    }
  }
  return {};
}

}  // namespace kiln::runtime
