#include "compiler_core/frontend/format/format.h"

#include "compiler_core/frontend/dialects/read/form.h"
#include "compiler_core/frontend/stablehlo/form.h"
#include "compiler_core/frontend/torch/reader/read.h"

namespace kiln::frontend {

Format formatOf(Bytes file) {
  if (torch::recognises(file)) return Format::kTorchExport;
  if (stablehlo::formOf(file) != stablehlo::Form::kNone) return Format::kStableHlo;
  return dialects::recognises(file) ? Format::kDialects : Format::kOther;
}

}  // namespace kiln::frontend
