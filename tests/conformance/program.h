// A model through kiln-cc and the runtime.
#pragma once

#include "tests/conformance/case_data.h"

namespace kiln::conformance {

struct CompileOptions {
  std::string compiler;  // kiln-cc
  std::string target;
  std::string scratch;  // existing folder
};

// The highest target of this machine.
std::string hostTarget();
// kiln-cc in this program's folder.
std::string compilerBeside();

// What a case's data say about its model.
struct Given {
  analysis::DimValues dims;
  Composites sequences;
};

// Writes the artifact to `options.scratch`/artifact. kUnimplemented is a refusal of the compiler; every other
// error is its fault or the model's.
Status compileModel(const std::string& model, const Given& given, const Pins& pins,
                    const CompileOptions& options);

// Loads an artifact and runs it on two threads.
Result<std::vector<NamedTensor>> runArtifact(const std::string& artifactDirectory,
                                             const std::vector<NamedTensor>& inputs);

}  // namespace kiln::conformance
