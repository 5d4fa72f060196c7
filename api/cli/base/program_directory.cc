#include "api/cli/base/program_directory.h"

#include <filesystem>
#include <system_error>

namespace kiln::cli {

std::string programDirectory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

}  // namespace kiln::cli
