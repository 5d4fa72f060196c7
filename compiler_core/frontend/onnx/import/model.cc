#include "compiler_core/frontend/onnx/import/model.h"

#include "compiler_core/frontend/graph/unsupported.h"
#include "compiler_core/frontend/onnx/import/import.h"
#include "compiler_core/frontend/onnx/reader/rule_names.h"
#include "compiler_core/frontend/onnx/strings/intern.h"

namespace kiln::onnx {
namespace {

class OnnxModel : public frontend::Model {
 public:
  OnnxModel(LoadedModel loaded, InternedStrings strings, std::vector<parameters::ParameterFile> parameters)
      : loaded_(std::move(loaded)), strings_(std::move(strings)), parameters_(std::move(parameters)) {}

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
    if (!strings_.unserved.empty()) return fail(unservedStrings());
    ImportOptions own = options;
    own.parameters = &parameters_;
    KILN_ASSIGN(Captured captured, importModel(context, loaded_, own));
    if (!strings_.values.empty()) captured.strings = strings_.texts;
    for (auto* tensors : {&captured.inputs, &captured.outputs})
      for (ir::Signature& tensor : *tensors) tensor.isText = strings_.values.contains(tensor.name);
    return captured;
  }

 private:
  Error unservedStrings() const {
    std::vector<ir::UnsupportedNode> nodes;
    for (const UnservedNode& node : strings_.unserved)
      nodes.push_back({node.node, node.op, "", 0, node.reason});
    return frontend::unsupportedError(nodes, static_cast<std::int64_t>(loaded_.model.graph.nodes.size()));
  }

  LoadedModel loaded_;
  InternedStrings strings_;
  std::vector<parameters::ParameterFile> parameters_;
};

}  // namespace

Result<frontend::LoadedModel> loadAsModel(const std::string& path,
                                          std::vector<parameters::ParameterFile> parameters) {
  KILN_ASSIGN(LoadedModel loaded, loadModel(path));
  auto strings = internStrings(loaded.model);
  if (!strings) return fail(strings.error().in(path));
  return std::make_unique<const OnnxModel>(std::move(loaded), std::move(*strings), std::move(parameters));
}

}  // namespace kiln::onnx
