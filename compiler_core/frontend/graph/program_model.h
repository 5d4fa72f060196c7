// A model that is one program in memory, read whole from one file: what torch.export and StableHLO give.
#pragma once

#include <utility>

#include "compiler_core/frontend/graph/model.h"
#include "compiler_core/frontend/rules/model_names.h"

namespace kiln::frontend {

// `Program` has a member `form`. Beside it, in its namespace, are namesOfInputs(program), modelNames(program)
// and importProgram(context, program, options), as Model has them; modelNames() is what rules of placement
// may name.
template <class Program>
class ProgramModel final : public Model {
 public:
  ProgramModel(Program program, std::vector<parameters::ParameterFile> parameters)
      : program_(std::move(program)), parameters_(std::move(parameters)) {}

  std::string form() const override { return program_.form; }
  std::vector<std::string> inputNames() const override { return namesOfInputs(program_); }
  Result<std::vector<std::string>> externalFiles() const override { return std::vector<std::string>(); }
  std::vector<std::string> unknownNames(const PartitionRules& rules) const override {
    return frontend::unknownNames(modelNames(program_), rules);
  }
  Result<Captured> import(mlir::MLIRContext& context, const ImportOptions& options) const override {
    ImportOptions own = options;
    own.parameters = &parameters_;
    return importProgram(context, program_, own);
  }

 private:
  Program program_;
  std::vector<parameters::ParameterFile> parameters_;
};

}  // namespace kiln::frontend
