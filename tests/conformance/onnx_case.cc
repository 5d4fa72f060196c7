#include "tests/conformance/onnx_case.h"

#include <filesystem>

#include "compiler_core/frontend/onnx/import.h"
#include "compiler_core/frontend/onnx/parse.h"
#include "compiler_core/frontend/onnx/tensor_data.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/runtime/compare/compare.h"
#include "compiler_core/transforms/rewrite.h"

namespace kiln::conformance {
namespace {

using reference::HostTensor;

// input_0.pb, input_1.pb ... up to the first that is missing.
Result<std::vector<HostTensor>> readTensors(const std::string& directory, const std::string& stem) {
  std::vector<HostTensor> tensors;
  for (int i = 0;; ++i) {
    std::string path = directory + "/test_data_set_0/" + stem + "_" + std::to_string(i) + ".pb";
    if (!std::filesystem::exists(path)) return tensors;
    KILN_ASSIGN(auto file, onnx::MappedFile::open(path));
    KILN_ASSIGN(onnx::Tensor tensor, onnx::parseTensor(file->bytes()));
    onnx::ExternalData none("");
    KILN_ASSIGN(ir::Weight weight, onnx::tensorData(tensor, file, none));
    tensors.push_back(reference::toHostTensor(weight));
  }
}

Status compareAll(const std::vector<HostTensor>& got, const std::vector<HostTensor>& expected,
                  Tolerance tolerance) {
  if (got.size() != expected.size()) return fail(Code::kDataLoss, "another number of outputs");
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string place = "output " + std::to_string(i) + ": ";
    if (got[i].dtype != expected[i].dtype || got[i].shape != expected[i].shape)
      return fail(Code::kDataLoss, place + "another shape or type");
    KILN_ASSIGN(runtime::Comparison comparison,
                runtime::compare(got[i].dtype, got[i].bytes, expected[i].bytes,
                                 {tolerance.relative, tolerance.absolute}));
    if (!comparison.passed()) return fail(Code::kDataLoss, place + comparison.text());
  }
  return {};
}

Status check(const std::string& directory, Tolerance tolerance) {
  KILN_ASSIGN(onnx::LoadedModel loaded, onnx::loadModel(directory + "/model.onnx"));
  mlir::MLIRContext context;
  onnx::prepareContext(context);
  // The suite's few symbolic dimensions take the values of the inputs given.
  analysis::DimValues dims;
  auto inputs = readTensors(directory, "input");
  std::size_t next = 0;
  for (const onnx::ValueInfo& input : loaded.model.graph.inputs) {
    if (!inputs || next >= inputs->size() || !input.shape) break;
    const auto& shape = (*inputs)[next++].shape;
    for (std::size_t i = 0; i < input.shape->size() && i < shape.size(); ++i) {
      const onnx::Dim& dim = (*input.shape)[i];
      if (!dim.value && shape[i] > 0)
        dims[dim.name.empty() ? std::string(input.name) + "." + std::to_string(i) : std::string(dim.name)] =
            shape[i];
    }
  }
  KILN_ASSIGN(onnx::Captured captured, onnx::importModel(context, loaded, dims));
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

}  // namespace

CaseResult runCase(const std::string& name, const std::string& directory, Tolerance tolerance) {
  auto result = check(directory, tolerance);
  if (result) return {name, Outcome::kPassed, ""};
  return {name, result.error().code == Code::kUnimplemented ? Outcome::kSkipped : Outcome::kFailed,
          result.error().message};
}

}  // namespace kiln::conformance
