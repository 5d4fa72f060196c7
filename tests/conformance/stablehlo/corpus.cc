#include "tests/conformance/stablehlo/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/child_process.h"

namespace kiln::conformance {
namespace {

namespace fs = std::filesystem;

// The lines between "// -----".
std::vector<std::string> partsOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> parts(1);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("// -----"))
      parts.emplace_back();
    else
      parts.back() += line + "\n";
  }
  return parts;
}

bool hasCode(const std::string& part) {
  return part.find("func.func") != std::string::npos || part.find("\"func.func\"") != std::string::npos;
}

std::vector<StablehloCase> casesBelow(const fs::path& root) {
  std::vector<StablehloCase> cases;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".mlir") continue;
    const std::string path = entry.path().string();
    std::string name = fs::relative(entry.path(), root).generic_string();
    name.resize(name.size() - 5);
    const std::vector<std::string> parts = partsOf(path);
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (hasCode(parts[i]))
        cases.push_back({parts.size() == 1 ? name : name + ":" + std::to_string(i), path, i});
  }
  std::ranges::sort(cases, {}, &StablehloCase::name);
  return cases;
}

}  // namespace

Result<StablehloCorpus> StablehloCorpus::open(const std::string& path) {
  StablehloCorpus corpus;
  std::string root = path;
  if (fs::is_regular_file(path)) {
    corpus.unpacked_ = std::make_unique<testing_support::TempDirectory>();
    root = *corpus.unpacked_ / "corpus";
    fs::create_directory(root);
    testing_support::ChildProcess tar({"/usr/bin/env", "tar", "--zstd", "-xf", path, "-C", root},
                                      *corpus.unpacked_ / "tar.log");
    if (tar.wait() != 0) return fail(Code::kInvalidArgument, path + ": tar --zstd cannot unpack it");
  } else if (!fs::is_directory(path)) {
    return fail(Code::kNotFound, "no cases at '" + path +
                                     "': name StableHLO's conformance cases, unpacked or as a .tar.zst archive");
  }
  // An archive holds one folder.
  if (!fs::exists(fs::path(root) / "testdata"))
    for (const auto& entry : fs::directory_iterator(root))
      if (fs::exists(entry.path() / "testdata")) root = entry.path().string();
  corpus.cases_ = casesBelow(root);
  if (corpus.cases_.empty()) return fail(Code::kNotFound, "no .mlir file below '" + path + "'");
  return corpus;
}

Result<std::string> moduleText(const StablehloCase& one) {
  const std::vector<std::string> parts = partsOf(one.path);
  if (one.part >= parts.size()) return fail(Code::kNotFound, one.path + ": there is no such module in it");
  return parts[one.part];
}

}  // namespace kiln::conformance
