#include "api/python/native/errors.h"

namespace kiln::python {

PyObject* raise(const Error& error) {
  const Ref module(PyImport_ImportModule("kiln.errors"));
  if (!module) return nullptr;
  const Ref message = toPython(error.message), details = toPython(error.details);
  if (!message || !details) return nullptr;
  const Ref exception(PyObject_CallMethod(module.get(), "from_code", "iOO", static_cast<int>(error.code),
                                          message.get(), details.get()));
  if (exception) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
  return nullptr;
}

Error takeException() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const Ref ownedType(type), ownedValue(value), ownedTrace(trace);
  const Ref text(value != nullptr ? PyObject_Str(value) : nullptr);
  const char* words = text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
  const Ref code(value != nullptr ? PyObject_GetAttrString(value, "code") : nullptr);
  const long number = code && PyLong_Check(code.get()) != 0 ? PyLong_AsLong(code.get()) : 0;
  const bool canonical =
      number >= static_cast<long>(Code::kCancelled) && number <= static_cast<long>(Code::kUnauthenticated);
  Error error{canonical ? static_cast<Code>(number) : Code::kUnavailable,
              words != nullptr ? words : "Python failed without a word",
              {}};
  PyErr_Clear();
  return error;
}

}  // namespace kiln::python
