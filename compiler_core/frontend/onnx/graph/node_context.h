// The view that an importer has of one node: its inputs as values, its attributes with their types checked,
// and the builder.
#pragma once

#include <set>
#include <string>

#include "compiler_core/frontend/onnx/graph/initializers.h"
#include "compiler_core/frontend/onnx/graph/item.h"
#include "compiler_core/frontend/onnx/graph/names.h"
#include "compiler_core/frontend/onnx/reader/model.h"
#include "compiler_core/reference/element.h"

namespace kiln::onnx {

// A node where it stands in the model.
struct NodeUse {
  const Node& node;
  std::int64_t opset;  // of the node's domain
  Items inputs;        // one per input of the node
};

class NodeContext : public GraphBuilder {
 public:
  NodeContext(mlir::OpBuilder& builder, mlir::Location location, IndexChecks* checks,
              Initializers& initializers, NodeUse use, BodyImporter& bodies)
      : GraphBuilder(builder, location, checks),
        initializers_(initializers),
        node_(use.node),
        opset_(use.opset),
        items_(std::move(use.inputs)),
        bodies_(bodies) {
    for (const Item& item : items_) inputs_.push_back(item.value);
  }

  std::int64_t opset() const { return opset_; }
  llvm::StringRef op() const { return {node_.op.data(), node_.op.size()}; }

  std::size_t inputCount() const { return inputs_.size(); }
  bool hasInput(std::size_t index) const { return index < inputs_.size() && inputs_[index]; }
  // kInvalidArgument when a required input is missing.
  Result<Value> input(std::size_t index) const;
  const Values& inputs() const { return inputs_; }
  // The same inputs where sequences and optionals are served as well.
  const Items& items() const { return items_; }
  std::size_t outputCount() const { return node_.outputs.size(); }
  // Whether the node names an output at `index`.
  bool wantsOutput(std::size_t index) const {
    return index < node_.outputs.size() && !node_.outputs[index].empty();
  }

  // An attribute or its default; kInvalidArgument when it has another type.
  Result<std::int64_t> integer(std::string_view name, std::int64_t fallback);
  Result<float> real(std::string_view name, float fallback);
  Result<std::string> text(std::string_view name, std::string_view fallback);
  Result<Dims> integers(std::string_view name, llvm::ArrayRef<std::int64_t> fallback);
  // Views of the model's bytes; empty where the attribute is missing.
  Result<std::vector<std::string_view>> texts(std::string_view name);
  Result<std::vector<float>> reals(std::string_view name, llvm::ArrayRef<float> fallback);
  // The attribute itself, or null.
  const Attribute* attribute(std::string_view name);
  bool hasAttribute(std::string_view name) { return attribute(name) != nullptr; }

  // The graph in an attribute; kInvalidArgument when it is missing.
  Result<const Graph*> graph(std::string_view name);
  // BodyImporter::importBody.
  Result<std::optional<Items>> importBody(const Graph& graph, const Items& arguments,
                                          std::string_view path = "") {
    return bodies_.importBody(graph, arguments, path);
  }

  // BodyImporter::replay.
  Result<Item> replay(const std::vector<std::string_view>& names, const Items& arguments,
                      std::string_view output) {
    return bodies_.replay(names, arguments, output);
  }
  // BodyImporter::charge.
  Status charge(std::int64_t operations) { return bodies_.charge(operations); }

  // What a tensor of the model holds that is no constant of the graph; null for any other value.
  const ir::Weight* weight(Value value) const { return initializers_.find(value); }
  // Input `index` as integers known at compile time; kUnimplemented naming `what` when it is computed at run
  // time.
  Result<Dims> constantInput(std::size_t index, std::string_view what) const;
  // The same where they may be expressions over symbols.
  Result<Shape> symbolicInput(std::size_t index, std::string_view what) const;
  // An attribute in versions before `since`, an input from then on; nullopt when absent.
  Result<std::optional<Dims>> integersByVersion(std::string_view name, std::size_t index, std::int64_t since);

  // A tensor held by an attribute of this node.
  Result<Value> tensor(const Tensor& tensor);
  // A table of numbers that the importer calculated, in row-major order, rounded to `element`.
  Value table(mlir::Type element, std::vector<std::int64_t> shape, const std::vector<double>& values);
  // The same of any numbers, exact also for 64-bit integers.
  Value table(mlir::Type element, std::vector<std::int64_t> shape,
              const std::vector<reference::Element>& values);
  // The elements of a tensor held by an attribute; errors as Initializers::data has them.
  Result<std::vector<reference::Element>> numbers(const Tensor& tensor) const;

  // From here on inputs of f16 or bf16 are their values in f32. The type they had, null if there is none.
  Result<mlir::Type> widenInputs();

  // Attributes the importer never looked at: serving the node without them would change its meaning.
  Status checkAttributes() const;

 private:
  Initializers& initializers_;
  const Node& node_;
  std::int64_t opset_;
  Items items_;
  Values inputs_;
  BodyImporter& bodies_;
  std::set<std::string_view> seen_;
};

}  // namespace kiln::onnx
