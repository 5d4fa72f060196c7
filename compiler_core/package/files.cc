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
  KILN_TRY(kiln::writeFile(path, bytes, O_TRUNC | O_NOFOLLOW, 0644));
  return digestOf(bytes);
}

}  // namespace kiln::package
