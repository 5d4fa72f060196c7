#include "compiler_core/frontend/onnx/reader/tensor_data.h"

#include <cstring>

#include "manifest/spec/onnx_wire.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

struct Layout {
  DType dtype;
  std::size_t width = 0;    // bytes of an element in memory, and in a file unless it is packed
  std::uint64_t count = 0;  // elements
  unsigned bits = 0;        // of an element in a file, 2 or 4 where several share a byte; else 0
  std::uint64_t bytes = 0;  // in a file
};

unsigned packedBits(DType dtype) {
  switch (dtype) {
    case DType::kI4:
    case DType::kU4:
    case DType::kF4E2M1FN:
      return 4;
    case DType::kI2:
    case DType::kU2:
      return 2;
    default:
      return 0;
  }
}

Result<Layout> layoutOf(const Tensor& tensor) {
  if (std::string why = unservedType(tensor.type); !why.empty()) return fail(Code::kUnimplemented, why);
  if (tensor.dims.size() > kMaxRank)
    return fail(Code::kUnimplemented, "rank " + std::to_string(tensor.dims.size()) + "; at most " +
                                          std::to_string(kMaxRank) + " is served");
  Layout layout{*toDType(tensor.type)};
  layout.width = dtypeBytes(layout.dtype);
  layout.bits = packedBits(layout.dtype);
  layout.count = 1;
  const std::uint64_t limit = (std::uint64_t{1} << 48) / layout.width;
  bool empty = false;
  for (std::int64_t dim : tensor.dims) {
    if (dim < 0) return invalid("negative dimension " + std::to_string(dim));
    empty |= dim == 0;
    if (dim > 0 && layout.count > limit / static_cast<std::uint64_t>(dim))
      return invalid("absurd dimensions");
    if (dim > 0) layout.count *= static_cast<std::uint64_t>(dim);
  }
  if (empty) layout.count = 0;
  layout.bytes = layout.bits ? (layout.count * layout.bits + 7) / 8 : layout.count * layout.width;
  return layout;
}

// One byte per element from several per byte, the first in the lowest bits; signs are extended.
std::vector<std::uint8_t> unpack(Bytes packed, const Layout& layout) {
  const bool isSigned = layout.dtype == DType::kI4 || layout.dtype == DType::kI2;
  const unsigned mask = (1u << layout.bits) - 1, sign = 1u << (layout.bits - 1);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(layout.count));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t bit = i * layout.bits;
    const unsigned code = (packed[bit / 8] >> (bit % 8)) & mask;
    bytes[i] = static_cast<std::uint8_t>(isSigned && (code & sign) ? code | ~mask : code);
  }
  return bytes;
}

// Values one after the other into `out`, never more than `count`.
class Writer {
 public:
  Writer(std::size_t count, std::size_t width) : width_(width), count_(count) {
    bytes_.reserve(count * width);
  }

  Status put(std::uint64_t value) {
    if (bytes_.size() == count_ * width_) return invalid("more values than the shape has elements");
    for (std::size_t i = 0; i < width_; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    return {};
  }
  Result<std::vector<std::uint8_t>> finish() {
    if (bytes_.size() != count_ * width_)
      return invalid(std::to_string(bytes_.size() / width_) + " values where the shape has " +
                     std::to_string(count_) + " elements");
    return std::move(bytes_);
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t width_, count_;
};

const TypedPayload& payloadOf(const Tensor& tensor, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return tensor.floats;
    case DType::kF64:
      return tensor.doubles;
    case DType::kI64:
      return tensor.ints64;
    case DType::kU32:
    case DType::kU64:
      return tensor.uints64;
    default:
      return tensor.ints32;
  }
}

std::uint64_t presentBytes(const TypedPayload& payload) {
  std::uint64_t bytes = payload.single.size();
  for (Bytes chunk : payload.packed) bytes += chunk.size();
  return bytes;
}

Result<std::vector<std::uint8_t>> decode(const TypedPayload& payload, const Layout& layout) {
  bool fixed = layout.dtype == DType::kF32 || layout.dtype == DType::kF64;
  const std::uint64_t count = layout.bytes / layout.width;
  // Each element takes a byte of the file or more, so this bounds the allocation by the file's size.
  if (count > presentBytes(payload)) return invalid("fewer values than the shape has elements");
  Writer writer(static_cast<std::size_t>(count), layout.width);
  for (Bytes chunk : payload.packed) {
    if (fixed) {
      if (chunk.size() % layout.width)
        return invalid("packed values of a length that " + std::to_string(layout.width) + " does not divide");
      for (std::size_t i = 0; i < chunk.size(); i += layout.width) {
        std::uint64_t value = 0;
        std::memcpy(&value, chunk.data() + i, layout.width);
        KILN_TRY(writer.put(value));
      }
      continue;
    }
    for (WireReader reader(chunk, chunk.data()); !reader.atEnd();) {
      KILN_ASSIGN(std::uint64_t value, reader.varint());
      KILN_TRY(writer.put(layout.dtype == DType::kBool ? value != 0 : value));
    }
  }
  for (std::uint64_t value : payload.single)
    KILN_TRY(writer.put(layout.dtype == DType::kBool ? value != 0 : value));
  return writer.finish();
}

Status checkBool(const ir::Weight& weight) {
  if (weight.dtype == DType::kBool)
    for (std::uint8_t value : weight.bytes)
      if (value > 1) return invalid("a bool is neither 0 nor 1");
  return {};
}

}  // namespace

std::string unservedType(std::int32_t type) {
  if (toDType(type)) return "";
  return "element type " + elementTypeName(type) + " is not served; tensors of numbers and bool are";
}

std::string unservedInput(const ValueInfo& input) {
  if (input.isTensor) return input.shape ? unservedType(input.type) : "an input without a rank is not served";
  const auto& containers = input.containers;
  if (containers.empty()) return "maps and sparse tensors are not served";
  if (containers.size() > 2 || (containers.size() == 2 && (containers[0] != Container::kOptional ||
                                                           containers[1] != Container::kSequence)))
    return "only sequences and optionals of tensors, and optional sequences, are served";
  return unservedType(input.type);
}

Result<std::uint64_t> bytesInFile(const Tensor& tensor) {
  KILN_ASSIGN(const Layout layout, layoutOf(tensor));
  return layout.bytes;
}

Result<ir::Weight> tensorData(const Tensor& tensor, const std::shared_ptr<const MappedFile>& file,
                              ExternalData& external) {
  KILN_ASSIGN(Layout layout, layoutOf(tensor));
  ir::Weight weight{std::string(tensor.name), layout.dtype, tensor.dims, {}, file};
  const TypedPayload& payload = payloadOf(tensor, layout.dtype);
  if (tensor.isExternal) {
    KILN_ASSIGN(ExternalData::View view, external.find(tensor, layout.bytes));
    weight.bytes = view.bytes;
    weight.owner = std::move(view.file);
  } else if (tensor.raw) {
    if (tensor.raw->size() != layout.bytes)
      return invalid("raw_data has " + std::to_string(tensor.raw->size()) + " bytes, the shape needs " +
                     std::to_string(layout.bytes));
    weight.bytes = *tensor.raw;
  } else if ((layout.dtype == DType::kF32 || layout.dtype == DType::kF64) && payload.single.empty() &&
             payload.packed.size() == 1 && payload.packed[0].size() == layout.bytes) {
    weight.bytes = payload.packed[0];
  } else {
    KILN_ASSIGN(std::vector<std::uint8_t> bytes, decode(payload, layout));
    auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
    weight.bytes = Bytes(*owner);
    weight.owner = std::move(owner);
  }
  if (layout.bits) {
    auto owner = std::make_shared<const std::vector<std::uint8_t>>(unpack(weight.bytes, layout));
    weight.bytes = Bytes(*owner);
    weight.owner = std::move(owner);
  }
  KILN_TRY(checkBool(weight));
  return weight;
}

}  // namespace kiln::onnx
