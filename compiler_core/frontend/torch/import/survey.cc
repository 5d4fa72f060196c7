#include "compiler_core/frontend/torch/import/survey.h"

#include "compiler_core/frontend/torch/import/graph_importer.h"
#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {
namespace {

// The reader bounds how deep graphs are nested.
void look(const Graph& graph, const std::string& path, Survey& out) {
  for (const Node& node : graph.nodes) {
    ++out.byName[node.target];
    if (!findOperator(node.target) && !isOfIntegers(node.target)) {
      const std::string_view why = whyMissing(node.target);
      out.unsupported.push_back({path + node.name, node.target, "", 0, std::string(why)});
    }
    for (const NamedArgument& input : node.inputs)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&input.value))
        look(**inner, path + node.name + "/", out);
  }
}

// Where names lead to through views and nodes in place; writes count for what is at the end.
void followWrites(const Program& program, Survey& out) {
  std::map<std::string, std::string, std::less<>> roots;
  auto rootOf = [&](const std::string& name) {
    const auto found = roots.find(name);
    return found == roots.end() ? name : found->second;
  };
  std::set<std::string, std::less<>> written;
  for (const Node& node : program.graph.nodes) {
    const auto found = findOperator(node.target);
    if (!found || (!found->isInPlace && found->row->alias == Alias::kNone)) continue;
    const std::string base = baseOf(node);
    if (base.empty()) continue;
    const std::string root = rootOf(base);
    if (found->isInPlace) written.insert(root);
    for (const std::string& name : node.outputs) roots[name] = root;
  }
  for (const Argument& input : program.graph.inputs)
    if (const auto* tensor = std::get_if<TensorName>(&input); tensor && written.contains(tensor->name))
      out.written.insert(tensor->name);
  for (const OutputSpec& output : program.outputs) {
    if (output.kind == OutputSpec::Kind::kUserInputMutation) out.written.insert(output.target);
    if (output.kind != OutputSpec::Kind::kBufferMutation) continue;
    for (const InputSpec& input : program.inputs)
      if (const auto* tensor = std::get_if<TensorName>(&input.argument);
          tensor && input.kind == InputSpec::Kind::kBuffer && input.target == output.target)
        out.written.insert(tensor->name);
  }
}

void addInner(const Graph& graph, const std::string& path, frontend::ModelNames& names) {
  for (const Node& node : graph.nodes) {
    names.operators.insert(node.target);
    names.inner.push_back(path + node.name);
    for (const NamedArgument& input : node.inputs)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&input.value))
        addInner(**inner, path + "graph/", names);
  }
}

}  // namespace

Survey survey(const Program& program) {
  Survey out;
  out.nodes = static_cast<std::int64_t>(program.graph.nodes.size());
  look(program.graph, "", out);
  followWrites(program, out);
  return out;
}

frontend::ModelNames modelNames(const Program& program) {
  frontend::ModelNames names;
  for (const Node& node : program.graph.nodes) {
    names.operators.insert(node.target);
    names.nodes.push_back(node.name);
    for (const NamedArgument& input : node.inputs)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&input.value)) {
        names.outer.push_back(node.name);
        addInner(**inner, "graph/", names);
      }
  }
  return names;
}

}  // namespace kiln::torch
