// kiln.Tensor: a tensor in memory of its own, for others to see without a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "api/python/native/python.h"
#include "manifest/artifact/dtype.h"
#include "manifest/base/result.h"

namespace kiln::python {

// Bytes that begin at a multiple of 64, as the runtime uses them in place.
class Memory {
 public:
  // kResourceExhausted if there is none.
  static Result<std::shared_ptr<Memory>> allocate(std::size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const { return data_; }

 private:
  explicit Memory(void* data) : data_(data) {}
  void* data_;
};

struct TensorData {
  std::shared_ptr<Memory> memory;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in bytes; filled in by newTensor()
  std::size_t bytes = 0;
};

// Adds the type to the module; false with an exception set.
bool addTensorType(PyObject* module);
// A new object; null with an exception set.
PyObject* newTensor(TensorData data);
// empty(shape, dtype) of Python: a tensor whose elements are zeros.
PyObject* emptyTensor(PyObject* module, PyObject* arguments);

}  // namespace kiln::python
