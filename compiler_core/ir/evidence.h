// The evidence of capture, analyse and rewrite about a model: deterministic, part of the Manifest. Plain
// structs, because MLIR units must not include the JSON library; evidence_json.h turns them into JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "manifest/artifact/dtype.h"

namespace kiln::ir {

// An input or output of the model. `dimNames` has the symbolic name per dimension, "" where the model gives a
// number.
struct Signature {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::string> dimNames;
  bool isText = false;  // its elements are numbers of texts
};

// A node the compiler cannot serve, and why. For inputs and initializers `op` is "(input)" or
// "(initializer)".
struct UnsupportedNode {
  std::string node, op, domain;
  std::int64_t opset = 0;
  std::string reason;
};

struct CaptureEvidence {
  std::string format;  // "onnx"
  std::string producer, producerVersion;
  std::int64_t irVersion = 0;
  std::map<std::string, std::int64_t> opsets;     // by domain, "ai.onnx" for ONNX itself
  std::map<std::string, std::int64_t> nodesByOp;  // "Conv", "com.example:Op"
  std::int64_t nodes = 0, served = 0;             // coverage is served / nodes
  std::int64_t functions = 0;                     // model-local functions
  std::vector<std::string> customOps;             // operators outside ONNX's own domain, sorted
  std::vector<UnsupportedNode> unsupported;
};

struct AnalyseEvidence {
  std::map<std::string, std::int64_t> dims;   // symbolic dimensions and the value the profile pins
  std::map<std::string, std::string> shapes;  // by value name: "f32[1,8,4,4]"
  std::int64_t foldedNodes = 0;  // nodes whose results were constants (shape computations and the like)
};

struct PassEvidence {
  std::string name;
  std::map<std::string, std::string> flags;
  std::int64_t before = 0, after = 0;  // operations in @main, nested ones included
};

// Operations that became one kiln.fused.
struct FusionGroup {
  std::vector<std::string> nodes;       // source nodes, in order
  std::vector<std::string> operations;  // "kiln.matmul", "kiln.binary add"
};

struct RewriteEvidence {
  std::vector<PassEvidence> passes;
  std::vector<FusionGroup> groups;
};

}  // namespace kiln::ir
