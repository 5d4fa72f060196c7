// Imports a program of TOSA or linalg and runs it in the reference evaluator.
#pragma once

#include <memory>

#include "compiler_core/frontend/dialects/import/import.h"
#include "compiler_core/reference/evaluator.h"
#include "tests/compiler_core/frontend/dialects/programs.h"

namespace kiln::testing_support {

using reference::HostTensor;

struct ImportedProgram {
  mlir::MLIRContext context;
  frontend::Captured captured;
};

inline Result<std::unique_ptr<ImportedProgram>> importText(const std::string& text,
                                                           const frontend::ImportOptions& options = {}) {
  auto made = std::make_unique<ImportedProgram>();
  frontend::prepareContext(made->context);
  KILN_ASSIGN(dialects::Program program, dialects::readProgram(asBytes(text), "test.mlir"));
  KILN_ASSIGN(made->captured,
              dialects::importProgram(made->context, std::make_shared<dialects::Program>(std::move(program)),
                                      options));
  return made;
}

inline Result<std::vector<HostTensor>> runText(const std::string& text,
                                               const std::vector<HostTensor>& inputs = {},
                                               const frontend::ImportOptions& options = {}) {
  KILN_ASSIGN(const auto made, importText(text, options));
  return reference::evaluate(*made->captured.module, made->captured.weights, inputs);
}

// The elements of a result; nothing where there is none of this type.
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

}  // namespace kiln::testing_support
