#include "tests/conformance/dialects/case_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace kiln::conformance {
namespace {

void split(const std::string& operation, std::istream& lines, std::vector<DialectsCase>& cases) {
  bool isNew = true;
  for (std::string line; std::getline(lines, line);) {
    if (line == "// -----") {
      isNew = true;
    } else if (isNew) {
      cases.push_back({operation, operation + "/" + line.substr(std::min<std::size_t>(3, line.size())), {}});
      isNew = false;
    } else {
      cases.back().text += line + "\n";
    }
  }
}

}  // namespace

Result<std::vector<DialectsCase>> readCases(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".mlir") files.push_back(entry.path());
  if (error || files.empty()) return fail(Code::kNotFound, folder + " has no cases");
  std::ranges::sort(files);
  std::vector<DialectsCase> cases;
  for (const std::filesystem::path& file : files) {
    std::ifstream lines(file);
    split(file.stem().string(), lines, cases);
  }
  return cases;
}

}  // namespace kiln::conformance
