// kiln._native.Model: an artifact that was verified and loaded, with one session. Of any number of threads.
#pragma once

#include "api/python/native/python.h"

namespace kiln::python {

// Adds the type to the module; false with an exception set.
bool addModelType(PyObject* module);
// open_model(directory, digest, root, policy, recalls, threads, checked, device_driver, device) of Python;
// digest, policy, recalls and device_driver may be None.
PyObject* openModel(PyObject* module, PyObject* arguments);

}  // namespace kiln::python
