// Reading pixels at computed positions.
#pragma once

#include "compiler_core/frontend/onnx/graph/names.h"

namespace kiln::onnx {

// An image [N, C, D...] of which single positions are read, all channels at once.
class Pixels {
 public:
  Pixels(GraphBuilder& builder, const Term& image);

  // One i64 index per spatial dimension, each [N, P] and inside it: [N, P, C].
  Term at(llvm::ArrayRef<Term> position) const;
  // The same for positions [P] in images that `batch` [P] names: [P, C].
  Term at(const Term& batch, llvm::ArrayRef<Term> position) const;

 private:
  GraphBuilder& builder_;
  Term rows_;  // [N * D..., C]
  Shape shape_;
};

}  // namespace kiln::onnx
