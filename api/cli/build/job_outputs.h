// Downloading what one builder left, for inspection.
#pragma once

#include "api/client/client.h"

namespace kiln::cli {

// Writes the files into the new directory `to`. Nothing of them is verified but their hashes: they may be a
// liar's. All of it or nothing; kAlreadyExists if there is anything but an empty directory.
Result<v1::BuilderOutputs> saveOutputs(client::Client& client, const std::string& job,
                                       const std::string& worker, const std::string& target,
                                       const std::string& to);

}  // namespace kiln::cli
