#include "compiler_core/frontend/onnx/import/model.h"

#include "compiler_core/frontend/onnx/import/import.h"
#include "compiler_core/frontend/onnx/reader/rule_names.h"

namespace kiln::onnx {
namespace {

class OnnxModel : public frontend::Model {
 public:
  OnnxModel(LoadedModel loaded, std::vector<parameters::ParameterFile> parameters)
      : loaded_(std::move(loaded)), parameters_(std::move(parameters)) {}

  std::string form() const override { return "ONNX"; }
  std::vector<std::string> inputNames() const override {
    std::vector<std::string> names;
    for (const ValueInfo& input : loaded_.model.graph.inputs) names.emplace_back(input.name);
    return names;
  }
  Result<std::vector<std::string>> externalFiles() const override {
    return onnx::externalFiles(loaded_.model);
  }
  std::vector<std::string> unknownNames(const PartitionRules& rules) const override {
    return onnx::unknownNames(loaded_.model, rules);
  }
  Result<Captured> import(mlir::MLIRContext& context, const ImportOptions& options) const override {
    ImportOptions own = options;
    own.parameters = &parameters_;
    return importModel(context, loaded_, own);
  }

 private:
  LoadedModel loaded_;
  std::vector<parameters::ParameterFile> parameters_;
};

}  // namespace

Result<frontend::LoadedModel> loadAsModel(const std::string& path,
                                          std::vector<parameters::ParameterFile> parameters) {
  KILN_ASSIGN(LoadedModel loaded, loadModel(path));
  return std::make_unique<const OnnxModel>(std::move(loaded), std::move(parameters));
}

}  // namespace kiln::onnx
