// Which values of a graph hold strings, and what operators do with them that know nothing of strings.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "compiler_core/frontend/onnx/reader/model.h"

namespace kiln::onnx {

enum class Text {
  kNone,   // no strings
  kKnown,  // strings that the model names
  kAny     // strings of a caller
};

// Not thread safe. Names are views of the model.
class TextFlow {
 public:
  Text of(std::string_view value) const {
    const auto found = texts_.find(value);
    return found == texts_.end() ? Text::kNone : found->second;
  }
  void set(std::string_view value, Text text) { texts_[value] = text; }

 private:
  std::map<std::string_view, Text> texts_;
};

// What an operator of ONNX does with the strings among its inputs.
struct Passing {
  std::string_view domain, op;
  std::vector<std::size_t> inputs;  // that are of the type that is moved; empty: all
  bool gives = true;                // its outputs are of that type
  bool compares = false;            // it tells them apart

  bool moves(std::size_t input) const;
};

// Null for an operator that needs to know what a string is.
const Passing* passingOf(const Node& node);

}  // namespace kiln::onnx
