// Checks a model before anything is sent: whether it is one, whether its external data is there, and whether
// the spec gives all it needs and nothing that it does not have.
#pragma once

#include <string>

#include "compiler_core/frontend/onnx/reader/external_data.h"
#include "compiler_core/frontend/onnx/reader/load.h"
#include "manifest/spec/compile_spec.h"

namespace kiln::client {

// Whether a file of these bytes is read as ONNX, which all is that no other frontend of the compiler
// recognises.
bool isOnnx(Bytes bytes);

// The model in a file or in memory; `name` is what the user calls it. kInvalidArgument with exitCode 3: it is
// no ONNX model, by what it is instead where that is known, or the ranges of its external data are not those
// of its tensors or not in its files (`external`, as checkExternal() has it); kUnimplemented: it is beyond a
// limit of the reader. Views in the model point into the bytes.
Result<onnx::Model> readModel(Bytes bytes, const std::string& name, const onnx::ExternalSizes& external = {});

// Whether `spec` fits the model. kInvalidArgument names every dimension, pin, input of sequence type, node
// and operator that it gives and the model does not have, and what cannot be its size or value, with all
// that is missing beside it; kUnimplemented, where only something is missing, what to give.
Status checkGiven(const onnx::Model& model, const std::string& name, const CompileSpec& spec);

// Both. A model of another format passes: the compiler looks at it.
Status checkModel(Bytes bytes, const std::string& name, const CompileSpec& spec,
                  const onnx::ExternalSizes& external = {});
Status checkModelFile(const std::string& path, const CompileSpec& spec,
                      const onnx::ExternalSizes& external = {});

}  // namespace kiln::client
