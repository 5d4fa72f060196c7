// Imports the nodes of a model: of its graph, of the graphs inside nodes, and of its functions, which are
// inlined.
#pragma once

#include <array>
#include <map>
#include <unordered_map>

#include "compiler_core/frontend/onnx/graph/item.h"
#include "compiler_core/frontend/onnx/import/import.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {

// Functions, branches, loop bodies and replayed nodes inside each other; bounds the recursion of the
// importer.
inline constexpr int kMaxDepth = 40;

// The attributes that a call gives to a function's body.
using CallAttributes = std::unordered_map<std::string_view, const Attribute*>;

// A graph while it is imported. Names are looked up here, then in the graphs around it.
struct Scope {
  Scope(const Graph& graph, const Opsets& opsets, mlir::Block* block)
      : graph(graph), opsets(opsets), block(block) {
    for (const Tensor& tensor : graph.initializers) tensors.emplace(tensor.name, &tensor);
  }

  const Graph& graph;
  const Opsets& opsets;
  mlir::Block* block;                          // to whose end operations are appended
  Scope* outer = nullptr;                      // null: the model's graph or a function's body
  const CallAttributes* attributes = nullptr;  // inside a function
  std::string path;                            // "call/" before the names of its nodes
  std::unordered_map<std::string_view, Item> names;
  std::unordered_map<std::string_view, const Tensor*> tensors;
};

// Notes what is not served in `captured` and goes on, so that one import names all of it.
class GraphImporter {
 public:
  GraphImporter(const Model& model, mlir::OpBuilder& builder, Initializers& initializers, Captured& captured);

  // All nodes of a scope, in order.
  Status nodes(Scope& scope);
  // An absent item for "". Initializers are made when they are first used, so that unused ones cost nothing.
  Result<Item> value(Scope& scope, std::string_view name);
  // The counts of the block that was imported last: in the end, of the model's graph.
  const std::vector<IndexChecks::Count>& indexCounts() const { return checks_.counts; }
  void unserved(std::string node, std::string op, std::string_view domain, std::string reason);

 private:
  class Bodies;

  mlir::Location location(const std::string& name) {
    return mlir::NameLoc::get(builder_.getStringAttr(name));
  }
  Status node(Scope& scope, const Node& node, std::size_t index);
  // Counts what `node` expands to; kUnimplemented when the model has become too large.
  Status charge(std::int64_t nodes, const Scope& scope, const Node& node);
  Result<Items> importNode(Scope& scope, const Node& node, Items inputs);
  Result<Items> call(Scope& scope, const Node& node, const Function& function, Items inputs);
  Result<std::optional<Items>> body(Scope& scope, const Graph& graph, const Items& arguments,
                                    const std::string& path);
  // BodyImporter::replay, for a node of `scope`.
  Result<Item> replay(Scope& scope, const std::vector<std::string_view>& names, const Items& arguments,
                      std::string_view output, const std::string& path);
  // Runs `scope`; nullopt where an output is poisoned.
  Result<std::optional<Items>> outputs(Scope& scope);
  const Function* findFunction(const Node& node) const;
  std::string notServed(const Scope& scope, const Node& node) const;

  const Model& model_;
  mlir::OpBuilder& builder_;
  Initializers& initializers_;
  Captured& captured_;
  std::map<std::array<std::string_view, 3>, const Function*> functions_;  // by domain, name, overload
  std::vector<const Function*> calls_;                                    // being inlined, outermost first
  int depth_ = 0;  // graphs and functions around the node
  IndexChecks checks_;
  std::size_t sequenceTensors_ = 0;
  std::int64_t imported_ = 0;  // nodes, each as often as it was inlined, and what gradients take
};

}  // namespace kiln::onnx
