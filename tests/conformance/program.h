// A model through kiln-cc and the runtime.
#pragma once

#include "compiler_core/runtime/runtime.h"
#include "tests/conformance/case_data.h"

namespace kiln::conformance {

struct CompileOptions {
  std::string compiler;  // kiln-cc
  std::string target;
  std::string scratch;  // existing folder
};

// Kernels run on a device: for cuda: targets on the emulated one, which watches its memory by itself, for
// vulkan: targets on the first of the loader's.
bool isForDevice(const CompileOptions& options);

// The highest target of this machine.
std::string hostTarget();
// kiln-cc in this program's folder.
std::string compilerBeside();
// A file in this program's folder.
std::string besideThis(const std::string& name);

// What a case's data say about its model.
struct Given {
  analysis::DimValues dims;
  Composites sequences;
  std::vector<analysis::ProfileDim> ranges = {};  // symbolic dimensions that stay so
};

// Writes the artifact to `options.scratch`/artifact; for a cuda: target its kernels' code for the emulated
// device too, to `options.scratch`/emulation. kUnimplemented is a refusal of the compiler, kInvalidArgument a
// fault of the model; every other error is the compiler's.
Status compileModel(const std::string& model, const Given& given, const Pins& pins,
                    const CompileOptions& options);

// An artifact of this machine's architecture with two threads; kernels for a device run on the emulated one,
// with the code beside the artifact.
Result<runtime::Session> openSession(const std::string& artifactDirectory);
Result<std::vector<NamedTensor>> runSession(runtime::Session& session,
                                            const std::vector<NamedTensor>& inputs);
// Both in one, and artifacts of other architectures under an emulator of theirs.
Result<std::vector<NamedTensor>> runArtifact(const std::string& artifactDirectory,
                                             const std::vector<NamedTensor>& inputs);

}  // namespace kiln::conformance
