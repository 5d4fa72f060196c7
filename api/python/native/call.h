// One run: arrays of Python in, tensors out.
#pragma once

#include <memory>
#include <vector>

#include "api/python/native/array.h"
#include "api/python/native/loaded.h"
#include "api/python/native/tensor.h"

namespace kiln::python {

// The tensors' names as objects, made once for all runs.
struct Names {
  std::vector<Ref> inputs, outputs;
};

// Made, used and destroyed with the GIL held, which run() lets go of. Of one run.
class Call {
 public:
  Call(Loaded& loaded, const Names& names) : loaded_(loaded), names_(names) {}

  // `given` is a dictionary of arrays by input name, and `out` one of arrays to write to by output name, or
  // None. kInvalidArgument names what is missing, unknown, or no array that fits.
  Status take(PyObject* given, PyObject* out);
  // Errors as kiln_session_run().
  Status run();
  // A dictionary of the outputs in the artifact's order: tensors, and what `out` had of them.
  PyObject* results();

 private:
  Status takeInputs(PyObject* given);
  Status takeOutputs(PyObject* out);
  Status prepareOutputs();
  Result<Ref> find(PyObject* dictionary, PyObject* name) const;
  Status checkKnown(PyObject* dictionary, const std::vector<Ref>& names, const char* kind) const;

  Loaded& loaded_;
  const Names& names_;
  std::vector<Array> arrays_;  // inputs
  std::vector<kiln_tensor> inputs_;
  std::vector<kiln_output> outputs_;
  std::vector<TensorData> made_;                // one per output; without memory where `out` has it
  std::vector<std::pair<Ref, Array>> written_;  // what `out` has
  std::vector<std::size_t> writtenPlace_;       // in `written_`, by output; kNone
};

}  // namespace kiln::python
