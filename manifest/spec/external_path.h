// Where a model keeps external data, as ONNX has it: below the model's own directory.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln {

// The location that a model states as a relative path that is safe to join (path.h): components "." are
// dropped, so that "./w.bin" and "w.bin" are one file. kInvalidArgument says what is wrong with any other.
Result<std::string> externalPath(std::string_view location);

}  // namespace kiln
