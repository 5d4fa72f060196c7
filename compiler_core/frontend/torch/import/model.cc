#include "compiler_core/frontend/torch/import/model.h"

#include "compiler_core/frontend/graph/program_model.h"
#include "compiler_core/frontend/torch/import/import.h"
#include "compiler_core/frontend/torch/import/survey.h"
#include "compiler_core/frontend/torch/reader/read.h"
#include "manifest/base/mapped_file.h"

namespace kiln::torch {

Result<frontend::LoadedModel> loadAsModel(const std::string& path,
                                          std::vector<parameters::ParameterFile> parameters) {
  KILN_ASSIGN(const auto file, MappedFile::open(path));
  KILN_ASSIGN(Program program, readProgram(file->bytes(), path, file));
  return std::make_unique<const frontend::ProgramModel<Program>>(std::move(program), std::move(parameters));
}

}  // namespace kiln::torch
