#include "manifest/spec/model_name.h"

namespace kiln {

std::string modelFileName(std::string_view path) {
  for (const std::string_view ending : {".mlir", ".mlirbc", ".stablehlo", ".vhlo", ".jax_export", ".pt2"})
    if (path.ends_with(ending)) return "model.mlir";
  return "model.onnx";
}

}  // namespace kiln
