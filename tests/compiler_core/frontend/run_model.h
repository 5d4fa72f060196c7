// Imports a model built in memory and runs it in the reference evaluator.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/frontend/onnx/import/import.h"
#include "compiler_core/frontend/onnx/reader/parse.h"
#include "compiler_core/reference/evaluator.h"
#include "tests/support/onnx_builder.h"

namespace kiln::testing_support {

using reference::HostTensor;

// A parsed, validated and imported model together with everything it refers to.
struct TestModel {
  std::string bytes;
  mlir::MLIRContext context;
  onnx::LoadedModel loaded;
  onnx::Captured captured;
};

inline Result<std::unique_ptr<TestModel>> import(
    std::string bytes, const analysis::DimValues& dims = {}, std::string directory = "",
    const Pins& pins = {}, const Composites& composites = {},
    const std::map<std::string, analysis::DimBounds>& ranges = {}) {
  auto model = std::make_unique<TestModel>();
  model->bytes = std::move(bytes);
  KILN_ASSIGN(model->loaded.model, onnx::parseModel(asBytes(model->bytes)));
  KILN_TRY(onnx::validate(model->loaded.model));
  model->loaded.directory = std::move(directory);
  frontend::prepareContext(model->context);
  KILN_ASSIGN(model->captured,
              onnx::importModel(model->context, model->loaded, {dims, pins, ranges, composites}));
  return model;
}

// With dimensions that stay symbols.
inline Result<std::unique_ptr<TestModel>> importRanged(
    std::string bytes, const std::map<std::string, analysis::DimBounds>& ranges,
    const analysis::DimValues& dims = {}) {
  return import(std::move(bytes), dims, "", {}, {}, ranges);
}

inline Result<std::vector<HostTensor>> run(const OnnxBuilder& builder,
                                           const std::vector<HostTensor>& inputs) {
  KILN_ASSIGN(auto model, import(builder.build()));
  return reference::evaluate(*model->captured.module, model->captured.weights, inputs);
}

inline HostTensor floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  return HostTensor::of(DType::kF32, std::move(shape), values);
}
inline HostTensor longs(std::vector<std::int64_t> shape, const std::vector<std::int64_t>& values) {
  return HostTensor::of(DType::kI64, std::move(shape), values);
}
inline std::vector<float> floatsOf(const HostTensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.elements()};
}

}  // namespace kiln::testing_support
