// What the operators of ai.onnx.ml share: rows of features, class labels, and what is done with scores in the
// end. Where ONNX Runtime and ONNX's reference implementation disagree about what nobody's exporter writes,
// the use is refused.
#pragma once

#include "compiler_core/frontend/onnx/graph/node_context.h"

namespace kiln::onnx::ml {

// By the numbers that TreeEnsemble has for them.
enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

inline tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}
inline tl::unexpected<Error> unserved(std::string message) {
  return fail(Code::kUnimplemented, std::move(message));
}

// Input 0 as [N, F]; one row where it has one dimension. F is known: kUnimplemented where it is not.
Result<Term> rowsOf(NodeContext& node);
// The same in f32.
Result<Term> realRowsOf(NodeContext& node);
// A table of one dimension, or of the dimensions given.
Term realTable(NodeContext& node, mlir::Type element, const std::vector<double>& values,
               std::vector<std::int64_t> shape = {});

// The attribute post_transform.
Result<PostTransform> postTransformOf(NodeContext& node);
// Of scores [N, K], K above 1.
Term transformed(NodeContext& node, const Term& scores, PostTransform transform);
// Of regressors, whose K may be 1.
Result<Term> regressed(NodeContext& node, const Term& scores, PostTransform transform);

// How many classes there are, and what they are called: integers. Where strings name them and the node's
// label is asked for: kUnimplemented, saying what to do.
Result<Dims> classLabels(NodeContext& node, std::string_view integers);
// labels[index], i64 [N].
Term labelled(NodeContext& node, const Dims& labels, const Term& index);

// The two scores that one score s [N, 1] stands for, and whether it means the second class, i1 [N].
// `isShare`: s is a share of 1, so the other class has the rest of it.
Result<Term> bothScores(NodeContext& node, const Term& score, PostTransform transform, bool isShare);

}  // namespace kiln::onnx::ml
