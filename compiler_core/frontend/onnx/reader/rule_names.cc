#include "compiler_core/frontend/onnx/reader/rule_names.h"

#include <algorithm>
#include <set>

#include "compiler_core/frontend/onnx/reader/node_name.h"
#include "manifest/base/glob.h"
#include "manifest/base/nearest.h"
#include "manifest/base/printable.h"

namespace kiln::onnx {
namespace {

constexpr std::size_t kMaxNear = 4096;  // names that a mistyped one is held against

bool isOnnx(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

class Names {
 public:
  explicit Names(const Model& model) {
    for (const Function& function : model.functions) functions_.insert({function.domain, function.name});
    for (const Node& node : model.graph.nodes) {
      const std::string label = nodeLabel(node);
      if (addOperator(node)) outer_.push_back(label);
      nodes_.push_back(label);
    }
    for (const Function& function : model.functions) addInner(function.graph);
    // A gradient imports nodes of the graph again, within itself.
    if (!outer_.empty()) inner_.insert(inner_.end(), nodes_.begin(), nodes_.end());
  }

  bool hasOperator(std::string_view pattern) const {
    return globMatches(pattern, "") || std::ranges::any_of(operators_, [&](const std::string& name) {
             return globMatches(pattern, name);
           });
  }
  bool isOperator(const std::string& name) const { return operators_.contains(name); }
  bool hasNode(std::string_view pattern) const {
    if (globMatches(pattern, "")) return true;
    if (std::ranges::any_of(nodes_, [&](const std::string& name) { return globMatches(pattern, name); }))
      return true;
    const std::string_view head = pattern.substr(0, pattern.find('*'));
    const std::string_view tail = pattern.substr(pattern.rfind('*') + 1);
    return std::ranges::any_of(outer_,
                               [&](const std::string& name) {
                                 const std::string begin = name + "/";
                                 return begin.starts_with(head) || head.starts_with(begin);
                               }) &&
           std::ranges::any_of(inner_, [&](const std::string& name) {
             const std::string end = "/" + name;
             return end.ends_with(tail) || tail.ends_with(end);
           });
  }
  std::string nearOperator(std::string_view name) const { return orNearest(name, firstOf(operators_)); }
  std::string nearNode(std::string_view name) const { return orNearest(name, firstOf(nodes_)); }

 private:
  template <class List>
  static std::vector<std::string> firstOf(const List& names) {
    return {names.begin(),
            std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxNear)))};
  }
  // Whether there are others inside it.
  bool addOperator(const Node& node) {
    if (functions_.contains({node.domain, node.op})) return true;
    operators_.insert((isOnnx(node.domain) ? "" : std::string(node.domain) + ":") + std::string(node.op));
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
      inner_.push_back(nodeLabel(node));
    }
  }

  std::set<std::pair<std::string_view, std::string_view>> functions_;
  std::set<std::string> operators_;  // "Conv", "com.example:Op", wherever they stand
  std::vector<std::string> nodes_;   // of the graph itself
  // Those that hold others, and those others: "outer/.../inner".
  std::vector<std::string> outer_, inner_;
};

std::string unknownOperator(const Names& names, std::string_view name) {
  return "the model has no operator " + inQuotes(name) + names.nearOperator(name);
}

}  // namespace

std::vector<std::string> unknownNames(const Model& model, const PartitionRules& rules) {
  if (rules.affinities.empty() && rules.exclusions.empty() && rules.fallbackOperators.empty()) return {};
  constexpr std::string_view kOperator = "op:";
  const Names names(model);
  std::vector<std::string> texts;
  const auto check = [&](const char* option, const std::vector<PlacementRule>& placements) {
    for (const PlacementRule& rule : placements) {
      const std::string place = std::string(option) + " " + inQuotes(rule.pattern + "=" + rule.target) + ": ";
      const std::string_view pattern = rule.pattern;
      if (pattern.starts_with(kOperator)) {
        const std::string_view name = pattern.substr(kOperator.size());
        if (!names.hasOperator(name)) texts.push_back(place + unknownOperator(names, name));
      } else if (!names.hasNode(pattern)) {
        // An operator without "op:" is the likely mistake.
        texts.push_back(place + "the model has no node " + inQuotes(pattern) +
                        (names.hasOperator(pattern)
                             ? "; of an operator it is " + inQuotes("op:" + rule.pattern)
                             : names.nearNode(pattern)));
      }
    }
  };
  check("--affinity", rules.affinities);
  check("--exclude", rules.exclusions);
  for (const std::string& name : rules.fallbackOperators)
    if (!names.isOperator(name)) texts.push_back("--fallback-allow: " + unknownOperator(names, name));
  return texts;
}

}  // namespace kiln::onnx
