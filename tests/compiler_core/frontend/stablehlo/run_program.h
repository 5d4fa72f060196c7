// Imports StableHLO's text and runs it in the reference evaluator.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/frontend/stablehlo/import/import.h"
#include "compiler_core/frontend/stablehlo/text/read_text.h"
#include "compiler_core/reference/evaluator.h"

namespace kiln::testing_support {

using reference::HostTensor;

struct TestProgram {
  mlir::MLIRContext context;
  frontend::Captured captured;
};

inline Result<std::unique_ptr<TestProgram>> importText(const std::string& text,
                                                       const frontend::ImportOptions& options = {}) {
  auto made = std::make_unique<TestProgram>();
  frontend::prepareContext(made->context);
  KILN_ASSIGN(const stablehlo::Program program, stablehlo::readText(text, "test.mlir"));
  KILN_ASSIGN(made->captured, stablehlo::importProgram(made->context, program, options));
  return made;
}

inline Result<std::vector<HostTensor>> runText(const std::string& text,
                                               const std::vector<HostTensor>& inputs = {}) {
  KILN_ASSIGN(const auto made, importText(text));
  return reference::evaluate(*made->captured.module, made->captured.weights, inputs);
}

// The elements of the first result; nothing where there is none of this type.
template <class T>
std::vector<T> elementsOf(const Result<std::vector<HostTensor>>& results, std::size_t index = 0) {
  if (!results || index >= results->size()) return {};
  const HostTensor& tensor = (*results)[index];
  if (tensor.bytes.size() != static_cast<std::size_t>(tensor.elements()) * sizeof(T)) return {};
  return {tensor.data<T>(), tensor.data<T>() + tensor.elements()};
}

inline HostTensor floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  return HostTensor::of(DType::kF32, std::move(shape), values);
}
inline HostTensor ints(std::vector<std::int64_t> shape, const std::vector<std::int32_t>& values) {
  return HostTensor::of(DType::kI32, std::move(shape), values);
}

// A function @main of these arguments ("%x: tensor<2xf32>") and result type; `body` ends in "return".
inline std::string mainOf(const std::string& arguments, const std::string& result, const std::string& body,
                          const std::string& others = "") {
  return "func.func public @main(" + arguments + ") -> (" + result + ") {\n" + body + "\n}\n" + others;
}

}  // namespace kiln::testing_support
