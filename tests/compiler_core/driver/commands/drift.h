// A compiler that is not deterministic, for the tests of what finds it (attack case 20). Never in the
// product.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace mlir {
class Operation;
}

namespace kiln::testing_support {

// For CompileArguments::afterPass: once, after the first run of `pass` that leaves a scalar constant of type
// f32, that constant is changed. Says on stderr "drifted in FUNCTION".
std::function<void(std::string_view pass, mlir::Operation& op)> driftAfter(std::string pass);

}  // namespace kiln::testing_support
