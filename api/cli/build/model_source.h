// The MODEL argument of `kiln build`: files on disk, a commit of a local repository, or one that the farm
// fetches.
#pragma once

#include <string>
#include <vector>

#include "api/client/client.h"

namespace kiln::cli {

// Adds the sources of `model` to `request`, uploading what the farm lacks. `data` as findModelFiles(). Says
// what was sent on stderr when `verbose`.
Status addModel(client::Client& client, const std::string& model, const std::vector<std::string>& data,
                bool verbose, v1::SubmitJobRequest& request);

}  // namespace kiln::cli
