#include "compiler_core/frontend/onnx/import.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/transforms/rewrite.h"
#include "tests/conformance/run_case.h"

namespace kiln::conformance {

Status evaluateCase(const std::string& directory, Tolerance tolerance) {
  KILN_ASSIGN(onnx::LoadedModel loaded, onnx::loadModel(directory + "/model.onnx"));
  mlir::MLIRContext context;
  onnx::prepareContext(context);
  auto inputs = readTensors(directory, "input");
  KILN_ASSIGN(analysis::DimValues dims, dimsOf(directory, inputs ? *inputs : std::vector<HostTensor>()));
  KILN_ASSIGN(onnx::Captured captured, onnx::importModel(context, loaded, {dims, {}}));
  if (!inputs) return fail(inputs.error());
  KILN_ASSIGN(std::vector<HostTensor> expected, readTensors(directory, "output"));
  KILN_ASSIGN(std::vector<HostTensor> imported,
              reference::evaluate(*captured.module, captured.weights, *inputs));
  KILN_TRY(compareAll(imported, expected, tolerance));
  KILN_TRY(transforms::rewrite(*captured.module, captured.weights));
  KILN_ASSIGN(std::vector<HostTensor> rewritten,
              reference::evaluate(*captured.module, captured.weights, *inputs));
  if (auto same = compareAll(rewritten, expected, tolerance); !same)
    return fail(same.error().in("after the rewrite stage"));
  return {};
}

}  // namespace kiln::conformance
