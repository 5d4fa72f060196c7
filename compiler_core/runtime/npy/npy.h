// Tensors as .npy files, versions 1.0 and 2.0. Format: NumPy's "NEP 1, a simple file format for NumPy
// arrays". Little-endian, C order. bf16 and the types of 8 bits and less that NumPy does not know are written
// as ml_dtypes does: '<V2' and '<V1', opaque bytes; i4 and i2 with their high bits clear. Input is hostile:
// every length is checked against the bytes present before anything is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "manifest/artifact/dtype.h"
#include "manifest/base/digest.h"

namespace kiln::npy {

// A dense, row-major, little-endian tensor that owns its bytes.
struct Tensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> data;  // exactly dtypeBytes(dtype) times the product of the shape
  bool operator==(const Tensor&) const = default;
};

struct Limits {
  std::uint64_t fileBytes = std::uint64_t{4} << 30;
};

// kInvalidArgument for a malformed file, kUnimplemented for well-formed ones that Kiln has no use for
// (big-endian or Fortran order, structured or object types, later versions); both say what was found and what
// to do. `wanted` is the type that the array should have: it tells what opaque elements of one byte are, and
// changes nothing else.
Result<Tensor> parse(Bytes file, std::optional<DType> wanted = {});

// What parse() reads, as a view of the file: elements are neither checked nor brought into their form in
// memory, which only i4 and i2 need.
struct View {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  Bytes data;
};
Result<View> view(Bytes file, std::optional<DType> wanted = {});

// The file's bytes. The tensor must be consistent (see Tensor).
std::vector<std::uint8_t> serialise(const Tensor& tensor);

// As above, from and to a regular file; errors name the path. kInvalidArgument too for more bytes than the
// limit. write() replaces the file.
Result<Tensor> read(const std::string& path, std::optional<DType> wanted = {}, Limits limits = {});
Status write(const std::string& path, const Tensor& tensor);

}  // namespace kiln::npy
