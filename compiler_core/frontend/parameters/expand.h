// What a user names as parameters, as the files that a compile is given.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::parameters {

struct TensorFile {
  std::string file;  // where it lies
  std::string path;  // parameterPath(): what it is called beside the model
};

// Each of `given` as readParameters() has it. The index of a file in shards stands for its shards, in its
// order: each of them says by itself what it holds. Errors as readParameters() has them.
Result<std::vector<TensorFile>> expandParameters(const std::vector<std::string>& given);

}  // namespace kiln::parameters
