#include "compiler_core/frontend/parameters/expand.h"

#include "compiler_core/frontend/parameters/parameter_file.h"
#include "manifest/spec/compile_spec.h"

namespace kiln::parameters {

Result<std::vector<TensorFile>> expandParameters(const std::vector<std::string>& given) {
  std::vector<TensorFile> files;
  for (const std::string& one : given) {
    KILN_ASSIGN(const ParameterFile read, readParameters(one));
    const bool isIndex = read.files.size() > 1;
    for (std::size_t i = isIndex ? 1 : 0; i < read.files.size(); ++i) {
      const std::string& file = read.files[i];
      const std::string name = read.format == Format::kNpy ? file.substr(file.rfind('/') + 1) : std::string();
      files.push_back({file, parameterPath(files.size(), name)});
    }
  }
  return files;
}

}  // namespace kiln::parameters
