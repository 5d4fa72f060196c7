#include "compiler_core/runtime/npy/npy.h"

#include <algorithm>

#include "compiler_core/runtime/element/element.h"
#include "compiler_core/runtime/npy/header.h"

namespace kiln::npy {
namespace {

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
  KILN_ASSIGN(const Parts parts, partsOf(file));
  KILN_ASSIGN(Header header, parseHeader(parts.header, wanted));
  if (parts.data.size() != header.dataBytes) {
    return fail(Code::kInvalidArgument, "the .npy file holds " + std::to_string(parts.data.size()) +
                                            " bytes of data, its header announces " +
                                            std::to_string(header.dataBytes) +
                                            "; the file is truncated or has bytes to spare");
  }
  return View{header.dtype, std::move(header.shape), parts.data};
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
  const std::string header = headerFor(descrOf(tensor.dtype), tensor.shape);
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
