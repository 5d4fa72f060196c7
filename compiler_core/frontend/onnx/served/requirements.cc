#include "compiler_core/frontend/onnx/served/requirements.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "compiler_core/frontend/onnx/reader/node_name.h"
#include "compiler_core/frontend/onnx/reader/tensor_data.h"
#include "compiler_core/frontend/onnx/served/served_operators.h"
#include "compiler_core/frontend/onnx/strings/intern.h"
#include "manifest/spec/pin.h"

namespace kiln::onnx {
namespace {

// Operands that must be known at compile time.
const std::map<std::string_view, std::vector<std::size_t>>& shapeOperands() {
  static const std::map<std::string_view, std::vector<std::size_t>> operands = {
      {"AffineGrid", {1}},
      {"BlackmanWindow", {0}},
      {"CenterCropPad", {1}},
      {"Col2Im", {1, 2}},
      {"ConstantOfShape", {0}},
      {"CumProd", {1}},
      {"CumSum", {1}},
      {"DFT", {1, 2}},
      {"Dropout", {2}},
      {"Expand", {1}},
      {"HammingWindow", {0}},
      {"HannWindow", {0}},
      {"MaxUnpool", {2}},
      {"MelWeightMatrix", {0, 1, 2, 3, 4}},
      {"OneHot", {1}},
      {"Pad", {1, 3}},
      {"Range", {0, 1, 2}},
      {"ReduceL1", {1}},
      {"ReduceL2", {1}},
      {"ReduceLogSum", {1}},
      {"ReduceLogSumExp", {1}},
      {"ReduceMax", {1}},
      {"ReduceMean", {1}},
      {"ReduceMin", {1}},
      {"ReduceProd", {1}},
      {"ReduceSum", {1}},
      {"ReduceSumSquare", {1}},
      {"Reshape", {1}},
      {"Resize", {2, 3}},
      {"STFT", {1, 3}},
      {"SequenceAt", {1}},
      {"SequenceErase", {1}},
      {"SequenceInsert", {2}},
      {"Slice", {1, 2, 3, 4}},
      {"Split", {1}},
      {"SplitToSequence", {1}},
      {"Squeeze", {1}},
      {"Tile", {1}},
      {"TopK", {1}},
      {"Unsqueeze", {1}},
      {"Upsample", {1}}};
  return operands;
}

bool isOnnx(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

class Finder {
 public:
  explicit Finder(const Model& model) : model_(model) {
    for (const Tensor& tensor : model.graph.initializers) constants_.insert(tensor.name);
    for (const Function& function : model.functions) functions_.insert({function.domain, function.name});
    for (std::size_t i = 0; i < model.graph.inputs.size(); ++i)
      if (!constants_.contains(model.graph.inputs[i].name)) inputs_[model.graph.inputs[i].name] = i;
    index(model.graph);
  }

  Requirements find() {
    inputs();
    graph(model_.graph, model_.opsets);
    for (const Function& function : model_.functions) unserved(function.graph, function.opsets);
    for (const auto& [number, pin] : pins_) result_.pins.push_back(pin);
    return std::move(result_);
  }

 private:
  // Names are unique along the way from a body outwards; of equal ones in two bodies the first counts.
  void index(const Graph& graph) {
    for (const Tensor& tensor : graph.initializers) initializers_.emplace(tensor.name, &tensor);
    for (const Node& node : graph.nodes) {
      for (std::string_view output : node.outputs)
        if (!output.empty()) producers_.emplace(output, &node);
      for (const Attribute& attribute : node.attributes)
        for (const Graph& body : attribute.graphs) index(body);
    }
  }

  void inputs() {
    std::set<std::string> known;
    for (const ValueInfo& input : model_.graph.inputs) {
      if (constants_.contains(input.name)) continue;
      if (std::string reason = unservedInput(input); !reason.empty())
        result_.unserved.push_back({std::string(input.name), "(input)", std::move(reason)});
      if (!input.containers.empty()) result_.sequences.emplace_back(input.name);
      if (!input.isTensor || !input.shape) continue;
      for (std::size_t i = 0; i < input.shape->size(); ++i) {
        const DeclaredDim& dim = (*input.shape)[i];
        if (dim.value) continue;
        std::string name =
            dim.name.empty() ? std::string(input.name) + "." + std::to_string(i) : std::string(dim.name);
        if (known.insert(name).second)
          result_.dimensions.push_back({std::move(name), std::string(input.name), i});
      }
    }
  }

  void graph(const Graph& graph, const Opsets& opsets) {
    unserved(graph, opsets);
    decided(graph);
  }

  // Those that some node uses; the others are never read.
  void unservedConstants(const Graph& graph) {
    std::set<std::string_view> used;
    for (const Node& node : graph.nodes) used.insert(node.inputs.begin(), node.inputs.end());
    for (const Tensor& tensor : graph.initializers)
      if (std::string reason = unservedType(tensor.type); !reason.empty() && used.contains(tensor.name))
        result_.unserved.push_back({std::string(tensor.name), "(initializer)", std::move(reason)});
    for (std::string_view name : graph.sparse)
      result_.unserved.push_back({std::string(name), "(initializer)", "sparse initializers are not served"});
  }

  void unserved(const Graph& graph, const Opsets& opsets) {
    unservedConstants(graph);
    for (const Node& node : graph.nodes) {
      if (!functions_.contains({node.domain, node.op})) {
        const std::string_view domain = isOnnx(node.domain) ? std::string_view() : node.domain;
        auto opset = opsets.find(domain);
        if (opset == opsets.end()) opset = opsets.find(node.domain);
        std::string reason = opset == opsets.end() ? "the model imports no operator set for this domain"
                                                   : whyNotServed(domain, node.op, opset->second);
        if (!reason.empty())
          result_.unserved.push_back(
              {nodeLabel(node), (domain.empty() ? "" : std::string(domain) + ":") + std::string(node.op),
               std::move(reason)});
      }
      for (const Attribute& attribute : node.attributes)
        for (const Graph& body : attribute.graphs) unserved(body, opsets);
    }
  }

  void decided(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      if (isOnnx(node.domain)) {
        auto operands = shapeOperands().find(node.op);
        if (operands != shapeOperands().end())
          for (const std::size_t operand : operands->second)
            if (operand < node.inputs.size()) follow(node.inputs[operand], node, /*certain=*/true);
        // Its scales, before they moved behind a region.
        if (node.op == "Resize" && node.inputs.size() == 2) follow(node.inputs[1], node, /*certain=*/true);
        if (node.op == "If" && !node.inputs.empty()) follow(node.inputs[0], node, /*certain=*/false);
        // The trip count is the size of what a loop collects.
        if (node.op == "Loop" && !node.inputs.empty() && node.outputs.size() + 2 > node.inputs.size())
          follow(node.inputs[0], node, /*certain=*/true);
      }
      for (const Attribute& attribute : node.attributes)
        for (const Graph& body : attribute.graphs) decided(body);
    }
  }

  // Notes the inputs that `name` is calculated from by their values; what only depends on shapes is known.
  void follow(std::string_view name, const Node& decides, bool certain) {
    std::vector<std::string_view> pending{name};
    std::set<std::string_view> seen;
    std::optional<std::int64_t> compared;
    while (!pending.empty()) {
      const std::string_view next = pending.back();
      pending.pop_back();
      if (next.empty() || !seen.insert(next).second) continue;
      if (auto input = inputs_.find(next); input != inputs_.end()) {
        note(input->second, decides, certain, next == name, compared.value_or(1));
        continue;
      }
      auto producer = producers_.find(next);
      if (producer == producers_.end()) continue;
      const Node& node = *producer->second;
      if (isOnnx(node.domain) && (node.op == "Shape" || node.op == "Size")) continue;
      if (isOnnx(node.domain) && node.op == "Equal")
        for (std::string_view operand : node.inputs)
          if (!compared) compared = knownInteger(operand);
      pending.insert(pending.end(), node.inputs.begin(), node.inputs.end());
    }
  }

  // A constant of one integer.
  std::optional<std::int64_t> knownInteger(std::string_view name) const {
    const Tensor* tensor = nullptr;
    if (auto producer = producers_.find(name); producer != producers_.end() &&
                                               isOnnx(producer->second->domain) &&
                                               producer->second->op == "Constant") {
      for (const Attribute& attribute : producer->second->attributes) {
        if (attribute.name == "value_int" && attribute.i) return attribute.i;
        if (attribute.name == "value" && attribute.t) tensor = &*attribute.t;
      }
    } else if (auto initializer = initializers_.find(name); initializer != initializers_.end()) {
      tensor = initializer->second;
    }
    if (!tensor || tensor->isExternal) return std::nullopt;
    ExternalData none("");
    const auto value = tensorData(*tensor, nullptr, none);
    if (!value || (value->dtype != DType::kI64 && value->dtype != DType::kI32) ||
        value->bytes.size() != dtypeBytes(value->dtype))
      return std::nullopt;
    const auto numbers = pinValues(value->dtype, value->bytes.data(), 1);
    return std::get<std::int64_t>(numbers.front());
  }

  // Lists of integers and single numbers are pinned, and what an operator takes as it is; anything larger is
  // data, which no pin is for.
  void note(std::size_t number, const Node& decides, bool certain, bool isDirect, std::int64_t example) {
    constexpr std::size_t kMaxElements = 64;
    const ValueInfo& input = model_.graph.inputs[number];
    if (!input.isTensor || !input.shape) return;
    const bool isInteger = input.type == static_cast<std::int32_t>(ElementType::kInt32) ||
                           input.type == static_cast<std::int32_t>(ElementType::kInt64);
    const bool isBool = input.type == static_cast<std::int32_t>(ElementType::kBool);
    std::size_t elements = 1;
    for (const DeclaredDim& dim : *input.shape) {
      if (!dim.value && input.shape->size() == 1 && isInteger)
        elements = 0;
      else if (!dim.value || *dim.value > static_cast<std::int64_t>(kMaxElements))
        return;
      else
        elements *= static_cast<std::size_t>(*dim.value);
    }
    if (elements > (isInteger || isBool || isDirect ? kMaxElements : 1)) return;
    if (!isInteger) example = 1;
    auto [pin, isNew] = pins_.try_emplace(
        number, DecidingInput{std::string(input.name), elements, example, nodeLabel(decides), certain});
    if (!isNew && certain && !pin->second.certain) {
      pin->second.node = nodeLabel(decides);
      pin->second.certain = true;
    }
  }

  const Model& model_;
  std::set<std::string_view> constants_;
  std::set<std::pair<std::string_view, std::string_view>> functions_;
  std::unordered_map<std::string_view, std::size_t> inputs_;
  std::unordered_map<std::string_view, const Node*> producers_;
  std::unordered_map<std::string_view, const Tensor*> initializers_;
  std::map<std::size_t, DecidingInput> pins_;
  Requirements result_;
};

}  // namespace

Requirements requirementsOf(const Model& model) {
  Model numbers = model;
  auto strings = internStrings(numbers);  // an error is the importer's to tell
  Requirements found = Finder(numbers).find();
  if (strings)
    found.unserved.insert(found.unserved.end(), std::make_move_iterator(strings->unserved.begin()),
                          std::make_move_iterator(strings->unserved.end()));
  return found;
}

}  // namespace kiln::onnx
