// The values that a user fixes for inputs.
#pragma once

#include <vector>

#include "compiler_core/ir/evidence.h"
#include "compiler_core/ir/ir.h"
#include "manifest/base/result.h"
#include "manifest/spec/pin.h"

namespace kiln::frontend {

// The constant that uses of the pinned input `input`, of static shape, see. Errors say that they are of the
// pin: kFailedPrecondition, it does not fit the input; kUnimplemented, it is too large.
Result<mlir::Value> pinnedValue(mlir::OpBuilder& builder, mlir::Location location, const ir::Signature& input,
                                const std::vector<PinValue>& values);

// kFailedPrecondition where a pin is for none of `inputs`; it names them.
Status checkPins(const Pins& pins, llvm::ArrayRef<ir::Signature> inputs);

}  // namespace kiln::frontend
