// Numbers in the shapes of a model's inputs made symbols. No MLIR.
#pragma once

#include <map>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::conformance {

// Of each input, the symbols (dim_param) that some of its dimensions become.
using SymbolNames = std::map<std::string, std::map<std::size_t, std::string>, std::less<>>;

// The model's bytes with those dimensions; everything else stays as it is. kInvalidArgument when it is no
// protobuf.
Result<std::string> symbolise(Bytes model, const SymbolNames& names);

}  // namespace kiln::conformance
