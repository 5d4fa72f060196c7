// Extents that an operator wants equal, or multiples of each other, and that are not.
#pragma once

#include <string>

#include "compiler_core/ir/dims.h"
#include "manifest/base/result.h"

namespace kiln::onnx {

// The model's fault where all `extents` are numbers. Where a run gives some, they may fit there: that nothing
// shows it is Kiln's.
inline tl::unexpected<Error> unfit(std::string message, llvm::ArrayRef<ir::Dim> extents) {
  if (ir::isStatic(extents)) return fail(Code::kInvalidArgument, std::move(message));
  return fail(
      Code::kUnimplemented,
      message +
          ", as far as the profiles' ranges say; give the dimensions that must fit one name, or fix them");
}

}  // namespace kiln::onnx
