// The ONNX reader: parse, validate, read every tensor. Nothing may crash, hang or allocate without bound.
#include <cstddef>
#include <cstdint>

#include "compiler_core/frontend/onnx/reader/parse.h"
#include "compiler_core/frontend/onnx/reader/tensor_data.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto model = kiln::onnx::parseModel({data, size});
  if (!model) return 0;
  kiln::onnx::ExternalData external("/nonexistent");
  for (const auto& tensor : model->graph.initializers)
    (void)kiln::onnx::tensorData(tensor, nullptr, external);
  (void)kiln::onnx::externalFiles(*model);
  (void)kiln::onnx::validate(*model);
  return 0;
}
