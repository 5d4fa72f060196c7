// The structs of DLPack 1.0 (the consortium's "DLPack: open in-memory tensor structure"), as far as tensors
// in the processor's memory need them. Their layout is a contract among all array libraries.
#pragma once

#include <cstdint>

namespace kiln::python::dlpack {

// Device types and type codes, by the standard's numbers.
inline constexpr std::int32_t kCpu = 1, kCudaHost = 3;
enum TypeCode : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kBool = 6,
  kFloat8E4M3FN = 10,
  kFloat8E4M3FNUZ = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2FNUZ = 13,
  kFloat8E8M0FNU = 14,
};

struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  struct {
    std::int32_t type, id;
  } device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t *shape, *strides;  // in elements; no strides: dense and row-major
  std::uint64_t offset;           // of the first element, in bytes
};

// What a capsule "dltensor" holds; whoever takes it renames the capsule to "used_dltensor".
struct Managed {
  Tensor tensor;
  void* context;
  void (*free)(Managed*);
};

// The same of "dltensor_versioned".
struct ManagedVersioned {
  struct {
    std::uint32_t major, minor;
  } version;
  void* context;
  void (*free)(ManagedVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};
inline constexpr std::uint64_t kReadOnly = 1;

}  // namespace kiln::python::dlpack
