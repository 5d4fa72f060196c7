// What a build asks of a farm, from options as `kiln build` takes them.
#pragma once

#include "api/python/native/python.h"

namespace kiln::python {

// request(json, model, data) of Python: (spec_json, delivery_json, [(name, path)]) of a SubmitJobRequest; the
// files are the model's, found and checked as `kiln build` does. `json` is the text of an object with the
// options; errors name them as the command line does.
PyObject* buildRequest(PyObject* module, PyObject* arguments);

}  // namespace kiln::python
