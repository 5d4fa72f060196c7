// The value of a name of an ONNX graph while the graph is imported: a tensor, a sequence of tensors whose
// length is known, or an optional whose presence is known.
#pragma once

#include <vector>

#include "compiler_core/frontend/onnx/graph/names.h"
#include "compiler_core/frontend/onnx/reader/model.h"

namespace kiln::onnx {

struct Item;
using Items = std::vector<Item>;

struct Item {
  enum class Kind {
    kAbsent,    // an operand that is left out
    kPoisoned,  // could not be made, because of something that is not served and has been noted
    kTensor,
    kSequence,
    kOptional
  };

  static Item tensor(Value value) { return {Kind::kTensor, value, {}}; }
  static Item poisoned() { return {Kind::kPoisoned, {}, {}}; }
  // The elements are tensors.
  static Item sequence(Items elements) { return {Kind::kSequence, {}, std::move(elements)}; }
  static Item nothing() { return {Kind::kOptional, {}, {}}; }
  // The value is a tensor or a sequence.
  static Item some(Item value) { return {Kind::kOptional, {}, {std::move(value)}}; }

  bool isAbsent() const { return kind == Kind::kAbsent; }
  bool isPoisoned() const { return kind == Kind::kPoisoned; }
  bool isTensor() const { return kind == Kind::kTensor; }
  bool isSequence() const { return kind == Kind::kSequence; }
  bool isOptional() const { return kind == Kind::kOptional; }

  Kind kind = Kind::kAbsent;
  Value value;  // of a tensor
  Items parts;  // the elements of a sequence; of an optional its value, or nothing
};

// "a tensor", "a sequence", "an optional value" for messages.
inline std::string_view kindText(const Item& item) {
  if (item.isSequence()) return "a sequence";
  if (item.isOptional()) return "an optional value";
  return item.isTensor() ? "a tensor" : "nothing";
}

inline Items toItems(const Values& values) {
  Items items;
  for (Value value : values) items.push_back(value ? Item::tensor(value) : Item());
  return items;
}

// Imports the graphs that a node holds.
class BodyImporter {
 public:
  virtual ~BodyImporter() = default;
  // The outputs of `graph` on `arguments`; its operations are appended where the builder stands. `path` names
  // the place below the node in locations ("" for none). nullopt: something in the body is not served, which
  // has been noted. kInvalidArgument: the model is wrong; kUnimplemented: too deep or too much.
  virtual Result<std::optional<Items>> importBody(const Graph& graph, const Items& arguments,
                                                  std::string_view path) = 0;
  // What `output` is where `names` stand for `arguments`: the nodes of the graph around this node that lie
  // between are imported once more. Poisoned: something is not served, which has been noted.
  // kInvalidArgument: nothing defines `output`.
  virtual Result<Item> replay(const std::vector<std::string_view>& names, const Items& arguments,
                              std::string_view output) = 0;
  // Counts operations that the node expands to beside its own; kUnimplemented when the model has become too
  // large.
  virtual Status charge(std::int64_t operations) = 0;
};

}  // namespace kiln::onnx
