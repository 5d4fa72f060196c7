#include "compiler_core/frontend/onnx/strings/intern.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "compiler_core/frontend/onnx/reader/node_name.h"
#include "compiler_core/frontend/onnx/strings/text_flow.h"
#include "manifest/base/utf8.h"

namespace kiln::onnx {
namespace {

constexpr std::int32_t kIntegers = static_cast<std::int32_t>(ElementType::kInt64),
                       kStrings = static_cast<std::int32_t>(ElementType::kString);
// AttributeProto.AttributeType.
constexpr std::int32_t kInt = 2, kInts = 7;
// What a LabelEncoder gives for a key that it does not have, where the node does not say.
constexpr std::string_view kUnused = "_Unused";

using Numbers = std::map<std::string_view, std::int64_t>;
using Edit = std::function<void(const Numbers&)>;

Attribute* find(Node& node, std::string_view name) {
  const auto found = std::ranges::find(node.attributes, name, &Attribute::name);
  return found == node.attributes.end() ? nullptr : &*found;
}

Attribute integersNamed(std::string_view name, std::vector<std::int64_t> values) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = kInts;
  attribute.ints = std::move(values);
  return attribute;
}

Attribute integerNamed(std::string_view name, std::int64_t value) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = kInt;
  attribute.i = value;
  return attribute;
}

// Collects the texts of a model and what is to be done once their numbers are known.
class Interner {
 public:
  explicit Interner(Model& model) : model_(model) {}

  Result<InternedStrings> run() {
    for (ValueInfo& input : model_.graph.inputs)
      if (input.isTensor && input.type == kStrings) boundary(input, /*isOpen=*/true);
    for (Tensor& tensor : model_.graph.initializers)
      if (tensor.type == kStrings) {
        KILN_TRY(intern(tensor));
        flow_.set(tensor.name, Text::kKnown);
      }
    for (Node& node : model_.graph.nodes) KILN_TRY(visit(node));
    for (ValueInfo& output : model_.graph.outputs) {
      const Text text = flow_.of(output.name);
      if (text == Text::kAny)
        refuse(std::string(output.name), "(output)", "it holds strings of an input, which can be any");
      else if (text == Text::kKnown)
        boundary(output, /*isOpen=*/false);
    }
    if (edits_.empty() || !result_.unserved.empty()) return std::move(result_);
    std::sort(texts_.begin(), texts_.end());
    texts_.erase(std::unique(texts_.begin(), texts_.end()), texts_.end());
    checkTexts();
    if (!result_.unserved.empty()) return std::move(result_);
    Numbers numbers;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      numbers[texts_[i]] = static_cast<std::int64_t>(i);
      result_.texts.emplace_back(texts_[i]);
    }
    for (const Edit& edit : edits_) edit(numbers);
    result_.values = std::move(values_);
    return std::move(result_);
  }

 private:
  void refuse(std::string node, std::string op, std::string reason) {
    result_.unserved.push_back({std::move(node), std::move(op), std::move(reason)});
  }
  void refuse(const Node& node, std::string reason) {
    const std::string domain = node.domain.empty() ? "" : std::string(node.domain) + ":";
    refuse(nodeLabel(node), domain + std::string(node.op), std::move(reason));
  }
  void text(std::string_view one) { texts_.push_back(one); }

  // An input or output of the graph.
  void boundary(ValueInfo& value, bool isOpen) {
    if (isOpen) flow_.set(value.name, Text::kAny);
    values_.insert(std::string(value.name));
    edits_.push_back([&value](const Numbers&) { value.type = kIntegers; });
  }

  Status intern(Tensor& tensor) {
    std::uint64_t count = 1;
    for (const std::int64_t dim : tensor.dims)
      if (dim < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(dim), &count))
        count = UINT64_MAX;
    if (count != tensor.strings.size())
      return fail(Code::kInvalidArgument, "a tensor of strings has " + std::to_string(tensor.strings.size()) +
                                              " of them, which is not what its shape says");
    for (const std::string_view one : tensor.strings) text(one);
    edits_.push_back([&tensor](const Numbers& numbers) {
      tensor.type = kIntegers;
      for (const std::string_view one : tensor.strings)
        tensor.ints64.single.push_back(static_cast<std::uint64_t>(numbers.at(one)));
      tensor.strings.clear();
    });
    return {};
  }

  // A list of strings as a list of integers of another name.
  void intern(Attribute& attribute, std::string_view name) {
    for (const std::string_view one : attribute.strings) text(one);
    edits_.push_back([&attribute, name](const Numbers& numbers) {
      std::vector<std::int64_t> values;
      for (const std::string_view one : attribute.strings) values.push_back(numbers.at(one));
      attribute = integersNamed(name, std::move(values));
    });
  }

  // Bodies see the names around them.
  bool reachesBody(const Node& node) const {
    return std::ranges::any_of(node.attributes, [&](const Attribute& attribute) {
      return std::ranges::any_of(attribute.graphs, [&](const Graph& body) {
        return std::ranges::any_of(body.nodes, [&](const Node& inner) {
          return std::ranges::any_of(inner.inputs,
                                     [&](std::string_view name) { return flow_.of(name) != Text::kNone; }) ||
                 reachesBody(inner);
        });
      });
    });
  }

  Status visit(Node& node) {
    if (reachesBody(node)) {
      refuse(node, "its body uses strings of the graph around it");
      return {};
    }
    const bool isMl = node.domain == "ai.onnx.ml";
    if (isMl && node.op == "LabelEncoder") return labelEncoder(node);
    if (isMl && node.op == "OneHotEncoder") return lookedUp(node, "cats_strings", "cats_int64s");
    if (isMl && (node.op == "LinearClassifier" || node.op == "SVMClassifier"))
      return classes(node, "classlabels_ints");
    if (isMl && node.op == "TreeEnsembleClassifier") return classes(node, "classlabels_int64s");
    if (node.domain.empty() && node.op == "Constant") return constant(node);
    return passOn(node);
  }

  // Operators that know nothing of strings but move them, or compare them.
  Status passOn(Node& node) {
    if (std::ranges::none_of(node.inputs,
                             [&](std::string_view name) { return flow_.of(name) != Text::kNone; }))
      return {};
    const Passing* rule = passingOf(node);
    if (rule == nullptr) {
      refuse(
          node,
          "strings are not served here; turn them into numbers with a LabelEncoder or OneHotEncoder before");
      return {};
    }
    Text all = Text::kKnown;
    std::size_t open = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Text one = flow_.of(node.inputs[i]);
      if (rule->moves(i) != (one != Text::kNone)) {
        refuse(node, "input " + std::to_string(i) + (one == Text::kNone ? " is no string" : " is a string") +
                         ", unlike what the operator takes together");
        return {};
      }
      if (one == Text::kAny) all = Text::kAny, ++open;
    }
    // Two texts that the model does not name would look alike.
    if (rule->compares && open > 1) refuse(node, "two inputs of strings are compared, which can be any");
    if (rule->gives)
      for (const std::string_view output : node.outputs) flow_.set(output, all);
    return {};
  }

  Status constant(Node& node) {
    if (Attribute* value = find(node, "value"); value != nullptr && value->t && value->t->type == kStrings) {
      KILN_TRY(intern(*value->t));
      flow_.set(node.outputs.empty() ? std::string_view() : node.outputs[0], Text::kKnown);
    } else if (Attribute* list = find(node, "value_strings"); list != nullptr) {
      intern(*list, "value_ints");
      flow_.set(node.outputs.empty() ? std::string_view() : node.outputs[0], Text::kKnown);
    } else if (Attribute* one = find(node, "value_string"); one != nullptr && one->s) {
      text(*one->s);
      edits_.push_back(
          [one](const Numbers& numbers) { *one = integerNamed("value_int", numbers.at(*one->s)); });
      flow_.set(node.outputs.empty() ? std::string_view() : node.outputs[0], Text::kKnown);
    }
    return {};
  }

  // The input is looked up in a list of the node and leaves as numbers.
  Status lookedUp(Node& node, std::string_view strings, std::string_view integers) {
    Attribute* list = find(node, strings);
    const bool isText = !node.inputs.empty() && flow_.of(node.inputs[0]) != Text::kNone;
    if (isText != (list != nullptr))
      refuse(node, isText ? "the input is a string, and '" + std::string(strings) + "' is missing"
                          : "'" + std::string(strings) + "' is for strings, and the input is none");
    else if (list != nullptr)
      intern(*list, integers);
    return {};
  }

  // The first output is the name of a class.
  Status classes(Node& node, std::string_view integers) {
    if (!node.inputs.empty() && flow_.of(node.inputs[0]) != Text::kNone) {
      refuse(node, "the features are strings");
      return {};
    }
    Attribute* list = find(node, "classlabels_strings");
    if (list == nullptr || list->strings.empty() || node.outputs.empty() || node.outputs[0].empty())
      return {};
    if (find(node, integers) != nullptr) return {};  // the importer says that they are named twice
    intern(*list, integers);
    flow_.set(node.outputs[0], Text::kKnown);
    return {};
  }

  Status labelEncoder(Node& node) {
    const bool isText = !node.inputs.empty() && flow_.of(node.inputs[0]) != Text::kNone;
    Attribute* first = find(node, "classes_strings");  // of version 1: names and places, one way or the other
    bool keys = false, values = false;
    if (first != nullptr) {
      keys = isText;
      values = !isText;
      intern(*first, isText ? "keys_int64s" : "values_int64s");
      edits_.push_back([&node, isText, count = first->strings.size()](const Numbers&) {
        std::vector<std::int64_t> places(count);
        std::iota(places.begin(), places.end(), 0);
        node.attributes.push_back(integersNamed(isText ? "values_int64s" : "keys_int64s", std::move(places)));
      });
    } else {
      KILN_ASSIGN(keys, side(node, "keys_strings", "keys_int64s", "keys_tensor"));
      KILN_ASSIGN(values, side(node, "values_strings", "values_int64s", "values_tensor"));
    }
    if (keys != isText) {
      refuse(node, keys ? "its keys are strings, and the input is none"
                        : "the input is a string, and its keys are none");
      return {};
    }
    if (!values) return {};
    if (Attribute* tensor = find(node, "default_tensor"); tensor != nullptr && tensor->t)
      KILN_TRY(intern(*tensor->t));
    else
      fallback(node);
    if (!node.outputs.empty()) flow_.set(node.outputs[0], Text::kKnown);
    return {};
  }

  // Whether one side of a LabelEncoder is strings.
  Result<bool> side(Node& node, std::string_view strings, std::string_view integers,
                    std::string_view tensor) {
    if (Attribute* list = find(node, strings); list != nullptr) {
      intern(*list, integers);
      return true;
    }
    Attribute* held = find(node, tensor);
    if (held == nullptr || !held->t || held->t->type != kStrings) return false;
    KILN_TRY(intern(*held->t));
    return true;
  }

  void fallback(Node& node) {
    const Attribute* given = find(node, "default_string");
    const std::string_view name = given != nullptr && given->s ? *given->s : kUnused;
    text(name);
    edits_.push_back([&node, name](const Numbers& numbers) {
      std::erase_if(node.attributes, [](const Attribute& one) {
        return one.name == "default_string" || one.name == "default_int64";
      });
      node.attributes.push_back(integerNamed("default_int64", numbers.at(name)));
    });
  }

  void checkTexts() {
    std::size_t bytes = 0;
    for (const std::string_view one : texts_) {
      bytes += one.size();
      if (!isUtf8(one) || one.find('\0') != std::string_view::npos)
        refuse("strings", "(strings)", "one of the model's strings is no UTF-8 text");
      else if (one.size() > kMaxTextBytes)
        refuse("strings", "(strings)",
               "one of the model's strings has more than " + std::to_string(kMaxTextBytes) + " bytes");
      else
        continue;
      return;
    }
    if (texts_.size() > kMaxTexts || bytes > kMaxTableBytes)
      refuse("strings", "(strings)",
             "the model names " + std::to_string(texts_.size()) + " strings of " + std::to_string(bytes) +
                 " bytes; at most " + std::to_string(kMaxTexts) + " of " + std::to_string(kMaxTableBytes) +
                 " are served");
  }

  Model& model_;
  TextFlow flow_;
  InternedStrings result_;
  std::set<std::string> values_;
  std::vector<std::string_view> texts_;
  std::vector<Edit> edits_;  // in the order in which they have to be made
};

}  // namespace

Result<InternedStrings> internStrings(Model& model) {
  return Interner(model).run();
}

}  // namespace kiln::onnx
