// The report of `kiln inspect` about a model, and the command line that would build it. No farm is asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/client/model_check.h"
#include "api/client/model_files.h"
#include "compiler_core/frontend/onnx/served/requirements.h"
#include "manifest/json/json.h"

namespace kiln::client {

struct ModelReport {
  std::string path, producer, producerVersion;
  std::int64_t irVersion = 0;
  std::uint64_t bytes = 0;  // of the model and its external data
  std::vector<ModelFileOnDisk> files;
  std::map<std::string, std::int64_t> opsets;  // by domain
  std::vector<std::string> inputs, outputs;    // "x float[N,3,224,224]"
  std::map<std::string, std::size_t> operators;
  std::size_t nodes = 0, functions = 0;
  onnx::Requirements requirements;
  // `kiln build` with an example for everything that it will ask for; ready for a POSIX shell.
  std::string commandLine;

  Json toJson() const;
};

// `given`: a file, or a folder with one (frontend/folder). Errors as modelAt(), findModelFiles and readModel
// have them. `data` and `targets` are repeated in the command line.
Result<ModelReport> inspectModel(const std::string& given, const std::vector<std::string>& data,
                                 const std::vector<std::string>& targets);

}  // namespace kiln::client
