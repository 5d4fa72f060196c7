// Imports the nodes of a program's graph, and of graphs within it.
#pragma once

#include "compiler_core/frontend/graph/captured.h"
#include "compiler_core/frontend/torch/import/symbols.h"
#include "compiler_core/frontend/torch/import/tensors_by_name.h"

namespace kiln::torch {

// Notes what is not served in `captured` and goes on, so that one import names all of it. Not thread safe.
class GraphImporter : public Environment, private Views {
 public:
  GraphImporter(mlir::OpBuilder& builder, const Symbols& symbols, frontend::Captured& captured)
      : builder_(builder),
        symbols_(symbols),
        captured_(captured),
        outermost_{nullptr, TensorsByName(*this), {}} {}

  // The program's graph: tensors are defined for its inputs, then its nodes imported.
  TensorsByName& tensors() { return outermost_.tensors; }
  Status nodes(const Graph& graph);
  // Index checks that the nodes made.
  const std::vector<frontend::IndexChecks::Count>& indexCounts() const { return checks_.counts; }

  Result<Value> tensor(std::string_view name) override;
  Result<Dim> extent(const Expression& expression) const override { return symbols_.extent(expression); }
  Result<std::optional<Values>> body(const Graph& graph, const Values& arguments) override;

 private:
  struct Scope {
    const Graph* graph = nullptr;
    TensorsByName tensors;
    std::string path;  // before the names of its nodes: "cond/"
  };

  Result<Value> look(const Node& node, std::size_t index) override;
  Result<Value> written(const Node& node, std::size_t index, Value base, Value part) override;
  Status allNodes();
  Status node(const Node& node);
  Status define(const Node& node, const Operator& row, Values results);
  Status poison(const Node& node);
  bool dependsOnPoison(const Node& node) const;
  Result<Values> made(const Node& node, const Row& row);
  NodeContext contextOf(const Node& node, const Row& row);
  // The program's type, where a formula was calculated in f32; other differences are the program's fault.
  Result<Value> asDeclared(NodeContext& context, Value value, std::size_t index) const;

  mlir::OpBuilder& builder_;
  const Symbols& symbols_;
  frontend::Captured& captured_;
  frontend::IndexChecks checks_;
  Scope outermost_;
  Scope* scope_ = &outermost_;
  int depth_ = 0;
};

// The name of the tensor that a node's argument is; "" for anything else.
std::string tensorNamed(const Node& node, std::string_view argument);
// The argument in whose memory a view's results lie: "self", else "input".
std::string baseOf(const Node& node);

}  // namespace kiln::torch
