// The files that make up a model on disk: the model itself and the external data it names.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/frontend/onnx/reader/external_data.h"
#include "manifest/base/result.h"

namespace kiln::client {

struct ModelFileOnDisk {
  std::string name;  // as the model names it, relative; of the first: its own file name
  std::string path;  // where it is
};

// The model first. External data is found by a scan of the model and must lie in the model's own directory,
// links resolved; `data` says where else it is, "NAME=FILE" with a NAME of the model's, or "FILE" that is
// called so. Errors: kNotFound names the file that is missing; kInvalidArgument a file of `data` that the
// model does not name, and with exitCode 3 in the details that the model names a place outside its directory.
Result<std::vector<ModelFileOnDisk>> findModelFiles(const std::string& model,
                                                    const std::vector<std::string>& data);

// How large each but the first is, by name; those that cannot be asked are left out.
onnx::ExternalSizes externalSizes(const std::vector<ModelFileOnDisk>& files);

}  // namespace kiln::client
