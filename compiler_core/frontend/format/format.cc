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

std::string_view formatName(Format format) {
  switch (format) {
    case Format::kTorchExport:
      return "torch.export";
    case Format::kStableHlo:
      return "StableHLO";
    case Format::kDialects:
      return "TOSA and linalg";
    case Format::kOther:
      break;
  }
  return "ONNX";
}

}  // namespace kiln::frontend
