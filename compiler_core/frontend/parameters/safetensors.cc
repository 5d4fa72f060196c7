#include <algorithm>
#include <array>
#include <optional>

#include "compiler_core/frontend/archive/little_endian.h"
#include "compiler_core/frontend/parameters/formats.h"
#include "compiler_core/frontend/parameters/parameter_file.h"
#include "compiler_core/frontend/parameters/tensor_checks.h"
#include "manifest/base/printable.h"
#include "manifest/json/json.h"

namespace kiln::parameters {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxHeader = std::size_t{32} << 20;
constexpr int kDepth = 3;  // the header, a tensor, its shape
constexpr std::string_view kMetadata = "__metadata__";

struct Row {
  std::string_view name;
  DType dtype;
};
constexpr std::array<Row, 16> kTypes = {{{"F64", DType::kF64},
                                         {"F32", DType::kF32},
                                         {"F16", DType::kF16},
                                         {"BF16", DType::kBF16},
                                         {"I64", DType::kI64},
                                         {"I32", DType::kI32},
                                         {"I16", DType::kI16},
                                         {"I8", DType::kI8},
                                         {"U64", DType::kU64},
                                         {"U32", DType::kU32},
                                         {"U16", DType::kU16},
                                         {"U8", DType::kU8},
                                         {"BOOL", DType::kBool},
                                         {"F8_E4M3", DType::kF8E4M3FN},
                                         {"F8_E5M2", DType::kF8E5M2},
                                         {"F8_E8M0", DType::kF8E8M0FNU}}};

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Code::kInvalidArgument, "not a safetensors file that can be read: " + what);
}

// A list of sizes or offsets; nothing for anything else.
std::optional<std::vector<std::int64_t>> readSizes(const Json& json) {
  if (!json.is_array() || json.size() > kMaxRank) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const Json& one : json) {
    if (!one.is_number_unsigned() || one.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return std::nullopt;
    out.push_back(one.get<std::int64_t>());
  }
  return out;
}

Result<DType> readType(const Json& json) {
  const std::string name = json.is_string() ? json.get<std::string>() : std::string();
  for (const Row& row : kTypes) {
    if (row.name == name) return row.dtype;
  }
  if (name.empty()) return malformed("\"dtype\" is no name of a type");
  return fail(Code::kUnimplemented,
              "element type " + inQuotes(name) +
                  " is not served; served are F64 F32 F16 BF16 F8_E4M3 F8_E5M2 F8_E8M0, I and U "
                  "of 8 to 64 bits, and BOOL");
}

Result<ir::Weight> readTensor(const std::string& name, const Json& json, Bytes data) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets"))
    return malformed("it has other members than \"dtype\", \"shape\" and \"data_offsets\"");
  ir::Weight out{name, DType::kF32, {}, {}, nullptr};
  KILN_ASSIGN(out.dtype, readType(json["dtype"]));
  auto shape = readSizes(json["shape"]);
  if (!shape) return malformed("\"shape\" is no list of at most 64 sizes");
  const auto offsets = readSizes(json["data_offsets"]);
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1])
    return malformed("\"data_offsets\" is no beginning and end");
  const auto begin = static_cast<std::uint64_t>((*offsets)[0]),
             end = static_cast<std::uint64_t>((*offsets)[1]);
  if (end > data.size()) {
    return malformed("its data end at " + std::to_string(end) + ", the file holds " +
                     std::to_string(data.size()) + " bytes of them; it is truncated");
  }
  out.shape = std::move(*shape);
  KILN_ASSIGN(const std::uint64_t bytes, bytesOf(out.dtype, out.shape));
  if (bytes != end - begin) {
    return malformed("its shape takes " + std::to_string(bytes) + " bytes, its offsets are " +
                     std::to_string(end - begin) + " apart");
  }
  out.bytes = data.subspan(begin, bytes);
  return out;
}

Status checkMetadata(const Json& json) {
  if (!json.is_object()) return malformed("\"__metadata__\" is no object of texts");
  for (const Json& one : json) {
    if (!one.is_string()) return malformed("\"__metadata__\" is no object of texts");
  }
  return {};
}

// Tensors in the order of their data, which cover the file without a gap.
Status order(Tensors& tensors, Bytes data) {
  std::ranges::sort(tensors, [](const ir::Weight& a, const ir::Weight& b) {
    const auto key = [](const ir::Weight& one) { return std::pair(one.bytes.data(), one.bytes.size()); };
    return key(a) != key(b) ? key(a) < key(b) : a.name < b.name;
  });
  std::size_t at = 0;
  for (const ir::Weight& tensor : tensors) {
    const auto begin = static_cast<std::size_t>(tensor.bytes.data() - data.data());
    if (begin != at) {
      return malformed(tensorPlace(tensor.name) + ": its data begin at " + std::to_string(begin) +
                       (begin < at ? ", inside of another's" : ", behind a gap"));
    }
    at += tensor.bytes.size();
  }
  if (at != data.size()) return malformed(std::to_string(data.size() - at) + " bytes behind the last tensor");
  return {};
}

}  // namespace

Result<Tensors> readSafetensors(Bytes file, const Owner& owner) {
  if (file.size() < kLengthBytes) return malformed("it ends before its header");
  const std::uint64_t length = archive::littleEndian(file, 0, kLengthBytes);
  if (length > kMaxHeader)
    return malformed("a header of " + std::to_string(length) + " bytes; at most 32 MiB");
  if (length > file.size() - kLengthBytes) {
    return malformed("its header has " + std::to_string(length) + " bytes, the file holds " +
                     std::to_string(file.size() - kLengthBytes) + " of them; it is truncated");
  }
  const Bytes text = file.subspan(kLengthBytes, length), data = file.subspan(kLengthBytes + length);
  auto header = parseJson({reinterpret_cast<const char*>(text.data()), text.size()},
                          {.bytes = kMaxHeader, .depth = kDepth});
  if (!header) return malformed("its header, which begins at byte 8: " + header.error().message);
  if (!header->is_object()) return malformed("its header is no JSON object");
  if (header->size() > kMaxTensors) return malformed("more than 1000000 tensors");
  Tensors out;
  for (const auto& [name, value] : header->items()) {
    if (name == kMetadata) {
      KILN_TRY(checkMetadata(value));
      continue;
    }
    auto tensor = readTensor(name, value, data);
    if (!tensor) return fail(tensor.error().in(tensorPlace(name)));
    tensor->owner = owner;
    out.push_back(std::move(*tensor));
  }
  KILN_TRY(order(out, data));
  KILN_TRY(checkTensors(out));
  return out;
}

}  // namespace kiln::parameters
