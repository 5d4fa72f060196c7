// What a file of StableHLO looks like from its first bytes. No MLIR here.
#pragma once

#include "manifest/base/digest.h"

namespace kiln::stablehlo {

enum class Form {
  kNone,      // something else
  kBytecode,  // MLIR bytecode with StableHLO in it, whoever wrote it
  kJaxExport,
  kText
};

// By content only. Bytecode and text of MLIR's other dialects are kNone. Reads at most the whole of a text
// once.
Form formOf(Bytes bytes);

}  // namespace kiln::stablehlo
