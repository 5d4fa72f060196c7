#include "compiler_core/frontend/stablehlo/import/model.h"

#include "compiler_core/frontend/stablehlo/import/entry_arguments.h"
#include "compiler_core/frontend/stablehlo/import/import.h"
#include "compiler_core/frontend/stablehlo/import/names.h"
#include "compiler_core/frontend/stablehlo/read.h"
#include "manifest/base/mapped_file.h"

namespace kiln::stablehlo {
namespace {

class StableHloModel : public frontend::Model {
 public:
  StableHloModel(Program program, std::vector<parameters::ParameterFile> parameters)
      : program_(std::move(program)), parameters_(std::move(parameters)) {}

  std::string form() const override { return program_.form; }
  std::vector<std::string> inputNames() const override {
    const Function* entry = program_.entry();
    std::vector<std::string> names;
    if (!entry) return names;
    for (const EntryArgument& argument : entryArguments(program_, *entry))
      if (!platformIndex(program_, argument)) names.push_back(argument.label);
    return names;
  }
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
  return std::make_unique<const StableHloModel>(std::move(program), std::move(parameters));
}

}  // namespace kiln::stablehlo
