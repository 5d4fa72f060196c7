// Files that tools read and write by name. Private to compiler_core/codegen.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "manifest/base/file.h"

namespace kiln::codegen {

// A file that is gone with the object, however a call ends.
struct TemporaryFile {
  std::string path;
  explicit TemporaryFile(std::string where) : path(std::move(where)) {}
  ~TemporaryFile() { ::unlink(path.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Makes it, of mode 0600; an error if there is one.
  Status write(std::string_view bytes) const { return writeFile(path, asBytes(bytes), O_EXCL, 0600); }
};

}  // namespace kiln::codegen
