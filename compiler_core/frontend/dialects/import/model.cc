#include "compiler_core/frontend/dialects/import/model.h"

#include "compiler_core/frontend/dialects/import/import.h"
#include "compiler_core/frontend/dialects/import/operation_table.h"
#include "compiler_core/frontend/dialects/import/survey.h"
#include "compiler_core/frontend/rules/model_names.h"
#include "manifest/base/mapped_file.h"

namespace kiln::dialects {
namespace {

// The reader has bounded how deep regions are nested.
void addInner(mlir::Region& region, std::int64_t& index, frontend::ModelNames& names) {
  for (mlir::Operation& operation : region.getOps()) {
    const std::int64_t own = index++;
    if (!isTerminator(operation)) {
      names.operators.insert(operation.getName().getStringRef().str());
      names.inner.push_back(nodeName(operation, own));
    }
    for (mlir::Region& inside : operation.getRegions()) addInner(inside, index, names);
  }
}

frontend::ModelNames modelNames(mlir::ModuleOp module) {
  frontend::ModelNames names;
  mlir::func::FuncOp entry = entryOf(module);
  for (mlir::func::FuncOp function : module.getOps<mlir::func::FuncOp>()) {
    std::int64_t index = 0;
    if (function != entry) addInner(function.getBody(), index, names);
  }
  if (!entry) return names;
  std::int64_t index = 0;
  for (mlir::Operation& operation : entry.getBody().getOps()) {
    const std::int64_t own = index++;
    if (isTerminator(operation)) continue;
    const std::string name = nodeName(operation, own);
    names.operators.insert(operation.getName().getStringRef().str());
    names.nodes.push_back(name);
    if (llvm::isa<mlir::func::CallOp>(operation) || operation.getNumRegions() > 0)
      names.outer.push_back(name);
    for (mlir::Region& inside : operation.getRegions()) addInner(inside, index, names);
  }
  return names;
}

class DialectsModel : public frontend::Model {
 public:
  DialectsModel(Program program, std::vector<parameters::ParameterFile> parameters)
      : program_(std::make_shared<Program>(std::move(program))), parameters_(std::move(parameters)) {}

  std::string form() const override { return program_->form; }
  std::vector<std::string> inputNames() const override {
    const mlir::func::FuncOp entry = entryOf(*program_->module);
    return entry ? argumentNames(entry) : std::vector<std::string>();
  }
  Result<std::vector<std::string>> externalFiles() const override { return std::vector<std::string>(); }
  std::vector<std::string> unknownNames(const PartitionRules& rules) const override {
    return frontend::unknownNames(modelNames(*program_->module), rules);
  }
  Result<frontend::Captured> import(mlir::MLIRContext& context,
                                    const frontend::ImportOptions& options) const override {
    frontend::ImportOptions own = options;
    own.parameters = &parameters_;
    return importProgram(context, program_, own);
  }

 private:
  std::shared_ptr<Program> program_;
  std::vector<parameters::ParameterFile> parameters_;
};

}  // namespace

Result<frontend::LoadedModel> loadAsModel(const std::string& path,
                                          std::vector<parameters::ParameterFile> parameters) {
  KILN_ASSIGN(const auto file, MappedFile::open(path));
  KILN_ASSIGN(Program program, readProgram(file->bytes(), path));
  return std::make_unique<const DialectsModel>(std::move(program), std::move(parameters));
}

}  // namespace kiln::dialects
