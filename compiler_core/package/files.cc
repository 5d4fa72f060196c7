#include "compiler_core/package/files.h"

#include <fcntl.h>

#include <filesystem>

#include "manifest/base/file.h"

namespace kiln::package {

Status makeDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(errnoError(error.value(), directory));
  return {};
}

Result<Digest> writeFile(const std::string& path, Bytes bytes) {
  KILN_ASSIGN(UniqueFd file, openFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644, path));
  KILN_TRY(writeAll(file.get(), bytes, path));
  KILN_TRY(file.close(path));
  return digestOf(bytes);
}

}  // namespace kiln::package
