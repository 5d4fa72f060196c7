#include "compiler_core/frontend/onnx/reader/rule_names.h"

#include <algorithm>

#include "compiler_core/frontend/onnx/reader/node_name.h"
#include "compiler_core/frontend/rules/model_names.h"

namespace kiln::onnx {
namespace {

bool isOnnx(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

class Collector {
 public:
  explicit Collector(const Model& model) {
    for (const Function& function : model.functions) functions_.insert({function.domain, function.name});
    for (const Node& node : model.graph.nodes) {
      const std::string label = nodeLabel(node);
      if (addOperator(node)) names_.outer.push_back(label);
      names_.nodes.push_back(label);
    }
    for (const Function& function : model.functions) addInner(function.graph);
    // A gradient imports nodes of the graph again, within itself.
    if (!names_.outer.empty())
      names_.inner.insert(names_.inner.end(), names_.nodes.begin(), names_.nodes.end());
  }

  const frontend::ModelNames& names() const { return names_; }

 private:
  // Whether there are others inside it.
  bool addOperator(const Node& node) {
    if (functions_.contains({node.domain, node.op})) return true;
    names_.operators.insert((isOnnx(node.domain) ? "" : std::string(node.domain) + ":") +
                            std::string(node.op));
    bool holds = node.op == "Gradient";
    for (const Attribute& attribute : node.attributes)
      for (const Graph& body : attribute.graphs) {
        holds = true;
        addInner(body);
      }
    return holds;
  }
  void addInner(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      addOperator(node);
      names_.inner.push_back(nodeLabel(node));
    }
  }

  std::set<std::pair<std::string_view, std::string_view>> functions_;
  frontend::ModelNames names_;
};

}  // namespace

std::vector<std::string> unknownNames(const Model& model, const PartitionRules& rules) {
  if (rules == PartitionRules{}) return {};
  return frontend::unknownNames(Collector(model).names(), rules);
}

}  // namespace kiln::onnx
