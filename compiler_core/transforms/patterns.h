// Patterns that more than one pass runs.
#pragma once

namespace mlir {
class RewritePatternSet;
}

namespace kiln::transforms {

// Two transposes in a row are one, or none.
void addTransposeOfTranspose(mlir::RewritePatternSet& patterns);

}  // namespace kiln::transforms
