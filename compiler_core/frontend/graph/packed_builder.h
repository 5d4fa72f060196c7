// Makes kiln.dequantise.
#pragma once

#include "compiler_core/frontend/graph/graph_builder.h"

namespace kiln::frontend {

// For the node that another builder works on.
class PackedBuilder : public GraphBuilder {
 public:
  explicit PackedBuilder(const GraphBuilder& node) : GraphBuilder(node) {}

  // Operands as the operation has them; `zeros` may be null. kInvalidArgument in the verifier's words.
  Result<Value> dequantise(Value codes, Value scales, Value zeros, std::int64_t bits);
};

}  // namespace kiln::frontend
