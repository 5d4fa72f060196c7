// What a spec calls a model, whatever its file was called.
#pragma once

#include <string>
#include <string_view>

namespace kiln {

// "model.mlir" for the endings that exporters of StableHLO give to its text, its bytecode and JAX's exports,
// and torch.export to its archives; "model.onnx" for all other names. The compiler looks at the bytes.
std::string modelFileName(std::string_view path);

}  // namespace kiln
