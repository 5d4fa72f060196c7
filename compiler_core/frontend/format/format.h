// The format of a model by its bytes, for those who do not read it. No MLIR.
#pragma once

#include <string_view>

#include "manifest/base/digest.h"

namespace kiln::frontend {

enum class Format {
  kOther,  // ONNX, which has no mark of its own, or no model at all
  kTorchExport,
  kStableHlo,
  kDialects  // TOSA and linalg
};

// Asked in the order of frontends.h. Reads at most the whole of a text once.
Format formatOf(Bytes file);

// "StableHLO"; what is kOther is taken for "ONNX".
std::string_view formatName(Format format);

}  // namespace kiln::frontend
