// Texts of Python as the numbers that a program computes with, and back.
#pragma once

#include <string>
#include <vector>

#include "api/python/native/python.h"

namespace kiln::python {

// `arguments` holds a list of str and a tuple, their shape: an i64 tensor of their places in `strings`.
PyObject* numbersOf(PyObject* arguments, const std::vector<std::string>& strings);
// A list of str, row by row, from an i64 tensor.
PyObject* textsOf(PyObject* tensor, const std::vector<std::string>& strings);

}  // namespace kiln::python
