// An array of somebody else (NumPy, PyTorch, bytes, ...) as a tensor of the runtime, without a copy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/python/native/dlpack.h"
#include "api/python/native/python.h"
#include "manifest/artifact/dtype.h"
#include "manifest/base/result.h"

namespace kiln::python {

// Holds the array for as long as it lives; made and destroyed with the GIL held.
class Array {
 public:
  // By the buffer protocol, else by DLPack. `place` ("input \"x\"") begins the messages. kInvalidArgument for
  // an object that is no array, one that is not dense and row-major, of another byte order, of another type
  // than `dtype`, on a device or, if `written` to, read-only: each says how to convert it.
  static Result<Array> of(PyObject* object, const std::string& place, DType dtype, bool written = false);
  Array(Array&& other) noexcept;
  Array& operator=(Array&&) = delete;
  ~Array();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  const std::int64_t* shape() const { return shape_; }
  std::size_t rank() const { return rank_; }

 private:
  Array() = default;
  Status fromBuffer(PyObject* object, const std::string& place, DType dtype, bool written);
  Status fromDlpack(PyObject* object, const std::string& place, DType dtype, bool written);
  Status take(const dlpack::Tensor& tensor, const std::string& place, DType dtype);

  Py_buffer view_{};  // filled in where view_.obj is set
  Ref capsule_;       // of DLPack, renamed to say that it is used
  void* data_ = nullptr;
  std::size_t bytes_ = 0, rank_ = 0;
  const std::int64_t* shape_ = nullptr;
};

}  // namespace kiln::python
