#include "tests/conformance/case_data.h"

#include <filesystem>

#include "compiler_core/frontend/onnx/load.h"
#include "compiler_core/frontend/onnx/parse.h"
#include "compiler_core/frontend/onnx/tensor_data.h"
#include "compiler_core/runtime/compare/compare.h"

namespace kiln::conformance {

Result<std::vector<HostTensor>> readTensors(const std::string& directory, const std::string& stem) {
  std::vector<HostTensor> tensors;
  for (int i = 0;; ++i) {
    std::string path = directory + "/test_data_set_0/" + stem + "_" + std::to_string(i) + ".pb";
    if (!std::filesystem::exists(path)) return tensors;
    KILN_ASSIGN(auto file, onnx::MappedFile::open(path));
    KILN_ASSIGN(onnx::Tensor tensor, onnx::parseTensor(file->bytes()));
    onnx::ExternalData none("");
    KILN_ASSIGN(ir::Weight weight, onnx::tensorData(tensor, file, none));
    tensors.push_back({weight.dtype, weight.shape, {weight.bytes.begin(), weight.bytes.end()}});
  }
}

Result<analysis::DimValues> dimsOf(const std::string& directory, const std::vector<HostTensor>& inputs) {
  KILN_ASSIGN(onnx::LoadedModel loaded, onnx::loadModel(directory + "/model.onnx"));
  analysis::DimValues dims;
  std::size_t next = 0;
  for (const onnx::ValueInfo& input : loaded.model.graph.inputs) {
    if (next >= inputs.size() || !input.shape) break;
    const auto& shape = inputs[next++].shape;
    for (std::size_t i = 0; i < input.shape->size() && i < shape.size(); ++i) {
      const onnx::Dim& dim = (*input.shape)[i];
      std::string name(dim.name);
      if (name.empty()) name = std::string(input.name) + "." + std::to_string(i);
      if (!dim.value && shape[i] > 0) dims[name] = shape[i];
    }
  }
  return dims;
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

CaseResult toResult(const std::string& name, const Status& status) {
  if (status) return {name, Outcome::kPassed, ""};
  return {name, status.error().code == Code::kUnimplemented ? Outcome::kSkipped : Outcome::kFailed,
          status.error().message};
}

}  // namespace kiln::conformance
