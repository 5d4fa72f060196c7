// What a call of the runtime failed with, for tests.
#pragma once

#include <string>

#include "compiler_core/runtime/runtime.h"

namespace kiln::runtime::test {

struct Failure {
  kiln_class errorClass;
  std::string message;
};
template <class T>
Failure failureOf(const Result<T>& result) {
  if (result) return {static_cast<kiln_class>(0), "succeeded"};
  return {errorClass(result.error().code), result.error().message};
}

}  // namespace kiln::runtime::test
