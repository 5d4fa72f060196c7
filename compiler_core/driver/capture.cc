// The stage capture: reads the model and its external data, and refuses rules that name nothing in it.
#include "compiler_core/driver/stages.h"
#include "compiler_core/frontend/frontends.h"
#include "llvm/ADT/StringExtras.h"

namespace kiln::driver {

Result<Captured> captureModel(const Compilation& compilation) {
  compilation.begin(Stage::kCapture);
  Captured captured;
  KILN_ASSIGN(captured.model, frontend::loadModel(compilation.request.model, compilation.request.parameters));
  if (const auto unknown = captured.model->unknownNames(compilation.request.partition); !unknown.empty())
    return fail(Code::kFailedPrecondition, "the rules do not fit the model: " + llvm::join(unknown, "; "));
  return captured;
}

}  // namespace kiln::driver
