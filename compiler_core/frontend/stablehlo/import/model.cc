#include "compiler_core/frontend/stablehlo/import/model.h"

#include "compiler_core/frontend/graph/program_model.h"
#include "compiler_core/frontend/stablehlo/import/entry_arguments.h"
#include "compiler_core/frontend/stablehlo/import/import.h"
#include "compiler_core/frontend/stablehlo/import/names.h"
#include "compiler_core/frontend/stablehlo/read.h"
#include "manifest/base/mapped_file.h"

namespace kiln::stablehlo {

Result<frontend::LoadedModel> loadAsModel(const std::string& path,
                                          std::vector<parameters::ParameterFile> parameters) {
  KILN_ASSIGN(const auto file, MappedFile::open(path));
  KILN_ASSIGN(Program program, readProgram(file->bytes(), path, file));
  return std::make_unique<const frontend::ProgramModel<Program>>(std::move(program), std::move(parameters));
}

}  // namespace kiln::stablehlo
