// Cases of testdata/ as text.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::conformance {

// The module with @main's call of @inputs made into arguments, its calls of @expected and its checks dropped.
// kUnimplemented where it has another form.
Result<std::string> withArguments(const std::string& text);

}  // namespace kiln::conformance
