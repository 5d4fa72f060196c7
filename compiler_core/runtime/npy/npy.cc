#include "compiler_core/runtime/npy/npy.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "compiler_core/runtime/element/element.h"
#include "compiler_core/runtime/npy/header.h"

namespace kiln::npy {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = 64u << 10;
constexpr std::size_t kHeaderAlignment = 64;

// Bits of a signed type narrower than a byte; 0 for others.
int narrowBits(DType dtype) {
  return dtype == DType::kI4 ? 4 : dtype == DType::kI2 ? 2 : 0;
}

// From the file's form, without high bits, to the one in memory. What has high bits already is left.
void extendSigns(Tensor& tensor) {
  const int bits = narrowBits(tensor.dtype);
  if (bits == 0) return;
  for (std::uint8_t& byte : tensor.data)
    if (byte >> bits == 0 && byte >> (bits - 1) != 0) byte = static_cast<std::uint8_t>(byte | 0xff << bits);
}

}  // namespace

Result<View> view(Bytes file, std::optional<DType> wanted) {
  const auto truncated = [] { return fail(Code::kInvalidArgument, "the .npy file ends inside its header"); };
  if (file.size() < kMagic.size() || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) {
    return fail(Code::kInvalidArgument, "not a .npy file: it does not start with \\x93NUMPY");
  }
  if (file.size() < kMagic.size() + 2) return truncated();
  const int major = file[6], minor = file[7];
  if (major < 1 || major > 2 || minor != 0) {
    return fail(Code::kUnimplemented, ".npy format version " + std::to_string(major) + "." +
                                          std::to_string(minor) + "; versions 1.0 and 2.0 are read");
  }
  const std::size_t lengthBytes = major == 1 ? 2 : 4;
  Bytes rest = file.subspan(kMagic.size() + 2);
  if (rest.size() < lengthBytes) return truncated();
  std::size_t length = 0;
  for (std::size_t i = 0; i < lengthBytes; ++i) length |= static_cast<std::size_t>(rest[i]) << (8 * i);
  rest = rest.subspan(lengthBytes);
  if (length > kMaxHeader) return fail(Code::kInvalidArgument, "the .npy header is longer than 64 KiB");
  if (rest.size() < length) return truncated();
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), length);
  KILN_ASSIGN(Header header, parseHeader(text, wanted));
  rest = rest.subspan(length);
  if (rest.size() != header.dataBytes) {
    return fail(Code::kInvalidArgument, "the .npy file holds " + std::to_string(rest.size()) +
                                            " bytes of data, its header announces " +
                                            std::to_string(header.dataBytes) +
                                            "; the file is truncated or has bytes to spare");
  }
  return View{header.dtype, std::move(header.shape), rest};
}

Result<Tensor> parse(Bytes file, std::optional<DType> wanted) {
  KILN_ASSIGN(View found, view(file, wanted));
  Tensor tensor{found.dtype, std::move(found.shape), {found.data.begin(), found.data.end()}};
  extendSigns(tensor);
  if (const auto bad = runtime::firstInvalidElement(tensor.dtype, tensor.data)) {
    return fail(Code::kInvalidArgument,
                "element " + std::to_string(*bad) + " is no " + std::string(dtypeName(tensor.dtype)));
  }
  return tensor;
}

std::vector<std::uint8_t> serialise(const Tensor& tensor) {
  std::string header =
      "{'descr': '" + std::string(descrOf(tensor.dtype)) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i != 0) header += ", ";
    header += std::to_string(tensor.shape[i]);
  }
  header += tensor.shape.size() == 1 ? ",), }" : "), }";
  // Version 1.0; 64 dimensions of 2^53 fit its 16-bit length by far. Padded so that the data is aligned.
  const std::size_t prefix = kMagic.size() + 4;
  const std::size_t total =
      (prefix + header.size() + 1 + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment;
  header.resize(total - prefix - 1, ' ');
  header += '\n';
  header = std::string(kMagic) + '\1' + '\0' + static_cast<char>(header.size() & 0xff) +
           static_cast<char>(header.size() >> 8) + header;
  std::vector<std::uint8_t> file(header.size() + tensor.data.size());
  std::copy(header.begin(), header.end(), file.begin());
  const int bits = narrowBits(tensor.dtype);
  const auto mask = static_cast<std::uint8_t>(bits == 0 ? 0xff : (1 << bits) - 1);
  std::transform(tensor.data.begin(), tensor.data.end(),
                 file.begin() + static_cast<std::ptrdiff_t>(header.size()),
                 [mask](std::uint8_t byte) { return static_cast<std::uint8_t>(byte & mask); });
  return file;
}

}  // namespace kiln::npy
