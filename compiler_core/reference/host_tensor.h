// A tensor in host memory: what the reference evaluator takes and gives. No MLIR.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "manifest/artifact/dtype.h"

namespace kiln::reference {

// Dense row-major; bool is one byte, 0 or 1. `bytes` holds exactly elements() * dtypeBytes(dtype).
struct HostTensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;

  bool operator==(const HostTensor&) const = default;

  std::int64_t elements() const {
    std::int64_t count = 1;
    for (std::int64_t dim : shape) count *= dim;
    return count;
  }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(bytes.data());
  }

  // Zeros. The caller has bounded the size.
  static HostTensor zeros(DType dtype, std::vector<std::int64_t> shape) {
    HostTensor tensor{dtype, std::move(shape), {}};
    tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()) * dtypeBytes(dtype));
    return tensor;
  }
  template <class T>
  static HostTensor of(DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
    HostTensor tensor{dtype, std::move(shape), {}};
    tensor.bytes.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    return tensor;
  }
};

}  // namespace kiln::reference
