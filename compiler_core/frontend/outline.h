// What a model file is, for those who do not import it. No MLIR.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::frontend {

struct Outline {
  std::string form;                 // Model::form(): "ONNX", "StableHLO text"
  std::vector<std::string> inputs;  // by name, in order; composites not taken apart
  // Of the tensors that lie outside the model file, relative to its directory; each once.
  std::vector<std::string> externalFiles;
};

// Errors as loadModel() of frontends.h has them, and for a path of external data that is none.
Result<Outline> outlineOf(const std::string& path);

}  // namespace kiln::frontend
