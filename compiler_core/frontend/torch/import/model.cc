#include "compiler_core/frontend/torch/import/model.h"

#include "compiler_core/frontend/torch/import/import.h"
#include "compiler_core/frontend/torch/import/survey.h"
#include "compiler_core/frontend/torch/reader/read.h"
#include "manifest/base/mapped_file.h"

namespace kiln::torch {
namespace {

class TorchModel : public frontend::Model {
 public:
  TorchModel(Program program, std::vector<parameters::ParameterFile> parameters)
      : program_(std::move(program)), parameters_(std::move(parameters)) {}

  std::string form() const override { return program_.form; }
  std::vector<std::string> inputNames() const override { return torch::inputNames(program_); }
  Result<std::vector<std::string>> externalFiles() const override { return std::vector<std::string>(); }
  std::vector<std::string> unknownNames(const PartitionRules& rules) const override {
    return frontend::unknownNames(modelNames(program_), rules);
  }
  Result<frontend::Captured> import(mlir::MLIRContext& context,
                                    const frontend::ImportOptions& options) const override {
    frontend::ImportOptions own = options;
    own.parameters = &parameters_;
    return importProgram(context, program_, own);
  }

 private:
  Program program_;
  std::vector<parameters::ParameterFile> parameters_;
};

}  // namespace

Result<frontend::LoadedModel> loadAsModel(const std::string& path,
                                          std::vector<parameters::ParameterFile> parameters) {
  KILN_ASSIGN(const auto file, MappedFile::open(path));
  KILN_ASSIGN(Program program, readProgram(file->bytes(), path, file));
  return std::make_unique<const TorchModel>(std::move(program), std::move(parameters));
}

}  // namespace kiln::torch
