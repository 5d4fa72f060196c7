// The attributes of the three operators on tree ensembles as one structure.
#pragma once

#include "compiler_core/frontend/onnx/operators/ml/forest.h"
#include "compiler_core/frontend/onnx/operators/ml/scores.h"

namespace kiln::onnx::ml {

struct Ensemble {
  Forest forest;
  std::vector<double> baseValues;  // none, or as many as the operator checks
  Aggregate aggregate = Aggregate::kSum;
  PostTransform transform = PostTransform::kNone;
};

// TreeEnsembleRegressor and TreeEnsembleClassifier: nodes by tree and id. `kind` is "target" or "class",
// which begins the names of what says where leaves add. kInvalidArgument with tree and node where lists do
// not match or nodes are there twice, missing, or led to by two or (one root aside) by none.
Result<Ensemble> ensembleByIds(NodeContext& node, const std::string& kind, std::int64_t targets);
// TreeEnsemble: nodes and leaves by their position.
Result<Ensemble> ensembleByPosition(NodeContext& node);

}  // namespace kiln::onnx::ml
