#include "api/python/native/texts.h"

#include <cstring>

#include "api/python/native/array.h"
#include "api/python/native/errors.h"
#include "api/python/native/tensor.h"
#include "compiler_core/runtime/batch/texts.h"

namespace kiln::python {

PyObject* numbersOf(PyObject* arguments, const std::vector<std::string>& strings) {
  PyObject *texts = nullptr, *shape = nullptr;
  if (PyArg_ParseTuple(arguments, "OO", &texts, &shape) == 0) return nullptr;
  npy::TextArray array;
  for (Py_ssize_t i = 0; i < PySequence_Size(shape); ++i) {
    const Ref size(PySequence_GetItem(shape, i));
    array.shape.push_back(size ? PyLong_AsLongLong(size.get()) : -1);
  }
  for (Py_ssize_t i = 0; i < PySequence_Size(texts); ++i) {
    const Ref one(PySequence_GetItem(texts, i));
    Py_ssize_t bytes = 0;
    const char* text = one ? PyUnicode_AsUTF8AndSize(one.get(), &bytes) : nullptr;
    if (text == nullptr) return nullptr;
    array.texts.emplace_back(text, static_cast<std::size_t>(bytes));
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  const npy::Tensor numbers = runtime::numbersOf(array, strings);
  TensorData data{.memory = nullptr,
                  .dtype = numbers.dtype,
                  .shape = numbers.shape,
                  .strides = {},
                  .bytes = numbers.data.size()};
  auto memory = Memory::allocate(data.bytes);
  if (!memory) return raise(memory.error());
  if (data.bytes != 0) std::memcpy((*memory)->data(), numbers.data.data(), data.bytes);
  data.memory = std::move(*memory);
  return newTensor(std::move(data));
}

PyObject* textsOf(PyObject* tensor, const std::vector<std::string>& strings) {
  const auto array = Array::of(tensor, "texts", DType::kI64);
  if (!array) return raise(array.error());
  const auto* bytes = static_cast<const std::uint8_t*>(array->data());
  npy::Tensor numbers{DType::kI64, {}, {bytes, bytes + array->bytes()}};
  const auto texts = runtime::textsOf(numbers, strings);
  if (!texts) return raise(texts.error());
  Ref list(PyList_New(0));
  for (const std::string& text : texts->texts) {
    const Ref one = toPython(text);
    if (!list || !one || PyList_Append(list.get(), one.get()) != 0) return nullptr;
  }
  return list.release();
}

}  // namespace kiln::python
