#include "compiler_core/frontend/stablehlo/import/model.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "compiler_core/frontend/stablehlo/import/import.h"
#include "compiler_core/frontend/stablehlo/import/unserved.h"
#include "compiler_core/frontend/stablehlo/read.h"
#include "manifest/base/glob.h"
#include "manifest/base/mapped_file.h"

namespace kiln::stablehlo {
namespace {

// What rules can name: operations by their full names, and places by the names in their locations.
class Names {
 public:
  explicit Names(const Program& program) {
    for (const Function& function : program.functions) add(function.body);
  }

  bool hasOperator(std::string_view pattern) const {
    return std::ranges::any_of(operators_,
                               [&](const std::string& name) { return globMatches(pattern, name); });
  }
  // Whatever functions are inlined by is in front of a name.
  bool hasPlace(std::string_view pattern) const {
    const std::string_view own = pattern.substr(pattern.find_last_of('/') + 1);
    return pattern.find('*') != std::string_view::npos || places_.contains(std::string(pattern)) ||
           std::ranges::any_of(places_, [&](const std::string& name) { return name.ends_with(own); });
  }

 private:
  void add(const Region& region) {
    for (std::size_t i = 0; i < region.operations.size(); ++i) {
      const Operation& operation = region.operations[i];
      operators_.insert(fullName(operation));
      places_.insert(ownLabel(operation, i));
      for (const Region& inner : operation.regions) add(inner);
    }
  }

  std::set<std::string> operators_, places_;
};

class StablehloModel : public frontend::Model {
 public:
  StablehloModel(Program program, std::vector<parameters::ParameterFile> parameters)
      : program_(std::move(program)), parameters_(std::move(parameters)) {}

  std::string form() const override { return program_.form; }
  std::vector<std::string> inputNames() const override {
    return program_.entry() ? stablehlo::inputNames(*program_.entry()) : std::vector<std::string>();
  }
  Result<std::vector<std::string>> externalFiles() const override { return std::vector<std::string>(); }
  std::vector<std::string> unknownNames(const PartitionRules& rules) const override;
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

std::vector<std::string> StablehloModel::unknownNames(const PartitionRules& rules) const {
  constexpr std::string_view kOperator = "op:";
  const Names names(program_);
  std::vector<std::string> sentences;
  auto check = [&](const std::string& pattern, const char* option) {
    const std::string_view text = pattern;
    const bool isOperator = text.starts_with(kOperator);
    if (isOperator ? names.hasOperator(text.substr(kOperator.size())) : names.hasPlace(text)) return;
    sentences.push_back(std::string(option) + " " + pattern + " fits no operation of the program");
  };
  for (const PlacementRule& rule : rules.affinities) check(rule.pattern, "--affinity");
  for (const PlacementRule& rule : rules.exclusions) check(rule.pattern, "--exclude");
  for (const std::string& name : rules.fallbackOperators)
    if (!names.hasOperator(name))
      sentences.push_back("--fallback-op " + name + " is no operation of the program");
  return sentences;
}

}  // namespace

Result<frontend::LoadedModel> loadAsModel(const std::string& path,
                                          std::vector<parameters::ParameterFile> parameters) {
  KILN_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const std::string name = std::filesystem::path(path).filename().string();
  KILN_ASSIGN(Program program, readProgram(file->bytes(), name, file));
  return std::make_unique<const StablehloModel>(std::move(program), std::move(parameters));
}

}  // namespace kiln::stablehlo
