// Protobuf bytes -> onnx::Model. The bytes are hostile: lengths, counts and nesting are bounded before
// anything is allocated for them.
#pragma once

#include "compiler_core/frontend/onnx/reader/model.h"
#include "manifest/base/result.h"

namespace kiln::onnx {

struct ParseLimits {
  std::uint64_t bytes = 1ull << 40;   // past protobuf libraries' 2 GiB: initialisers stay in the file
  std::uint64_t elements = 8u << 20;  // strings, nodes, attributes, numbers in attributes ... all together
  int graphDepth = 8;                 // graphs in attributes of nodes of graphs ...
  std::size_t nameBytes = 4096;       // of a name: names go into messages, evidence and symbols
};

// Views in the result point into `bytes`. kInvalidArgument names the place: "graph: node[3]: attribute[0]:
// byte 812: ..."; kUnimplemented, in the same way, what is beyond a limit: such a model may be a valid one.
Result<Model> parseModel(Bytes bytes, const ParseLimits& limits = {});

// A TensorProto alone, as test data come.
Result<Tensor> parseTensor(Bytes bytes, const ParseLimits& limits = {});

// Names are unique, every input is defined, the graph has no cycle. Nodes are put into execution order
// (stable: a graph that is already in order keeps it). kInvalidArgument names node and value; kUnimplemented
// names an output that is listed twice.
Status validate(Model& model);

}  // namespace kiln::onnx
