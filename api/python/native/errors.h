// Errors as exceptions of Python: those of kiln/errors.py, which know their exit code.
#pragma once

#include "api/python/native/python.h"
#include "manifest/base/result.h"

namespace kiln::python {

// Sets the exception of `error` and returns null, for a function that Python calls.
PyObject* raise(const Error& error);
// The exception that is set as an Error, for C++ that called Python; it is cleared. That of kiln/errors.py
// keeps its code, others are kUnavailable.
Error takeException();

}  // namespace kiln::python
