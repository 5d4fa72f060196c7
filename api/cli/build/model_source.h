// The MODEL argument of `kiln build`: files on disk, a commit of a local repository, or one that the farm
// fetches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/client/client.h"
#include "compiler_core/frontend/parameters/expand.h"

namespace kiln::cli {

struct ModelOptions {
  std::string model;              // a file of any format that the compiler knows, or a commit
  std::vector<std::string> data;  // as findModelFiles() has it
  std::vector<parameters::TensorFile> parameters;  // as findParameters() has them
  bool verbose = false;                            // what was sent is told on stderr
  bool terminal = false;                           // which is a terminal: how far it is is shown too
  // Looks at each file that the model consists of, before any is sent; its error ends it. Not of a commit.
  std::function<Status(const std::string& file, const Digest& digest)> inspect = {};
};

// Each of `given`, as --params has them: files as expandParameters() has them, and behind these files of
// commits, git+URL@COMMIT#path, each for itself and unread (TensorFile::file is the reference).
Result<std::vector<parameters::TensorFile>> findParameters(const std::vector<std::string>& given);

// Adds the sources of the model to `request`, whose spec names the parameters already, uploading what the
// farm lacks.
Status addModel(client::Client& client, const ModelOptions& options, v1::SubmitJobRequest& request);

}  // namespace kiln::cli
