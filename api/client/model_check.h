// What shows of a model before anything is sent: whether it is one, and whether the options give all it
// needs.
#pragma once

#include <string>

#include "compiler_core/frontend/onnx/load.h"
#include "compiler_core/frontend/onnx/requirements.h"
#include "manifest/spec/compile_spec.h"

namespace kiln::client {

// The model in a file or in memory; `name` is what the user calls it. kInvalidArgument with exitCode 3: it is
// no ONNX model, by what it is instead where that is known; kUnimplemented: it is beyond a limit of the
// reader. Views in the model point into the bytes.
Result<onnx::Model> readModel(Bytes bytes, const std::string& name);

// kUnimplemented names every open dimension and every input of sequence type that `options` leave open, and
// what to give.
Status checkGiven(const onnx::Requirements& requirements, const std::string& name,
                  const CompileSpec& options);

// Both. What is no ONNX by its name (".mlir") passes.
Status checkModel(Bytes bytes, const std::string& name, const CompileSpec& options);
Status checkModelFile(const std::string& path, const CompileSpec& options);

}  // namespace kiln::client
