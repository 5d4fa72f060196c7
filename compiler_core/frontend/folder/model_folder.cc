#include "compiler_core/frontend/folder/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "compiler_core/frontend/format/format.h"
#include "manifest/base/mapped_file.h"
#include "manifest/base/printable.h"

namespace kiln::frontend {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 10'000, kMaxNamed = 8;
constexpr std::string_view kWeights[] = {"model.safetensors.index.json", "model.safetensors"};

// The regular files of a folder, links followed, in the order of their names.
Result<std::vector<fs::path>> filesIn(const fs::path& folder) {
  std::vector<fs::path> files;
  std::size_t entries = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (++entries > kMaxEntries)
      return fail(Code::kInvalidArgument, printable(folder.string()) + ": more than " +
                                              std::to_string(kMaxEntries) +
                                              " entries; name the model's file");
    std::error_code ignored;
    if (it->is_regular_file(ignored)) files.push_back(it->path());
  }
  if (error) {
    const bool denied = error == std::errc::permission_denied;
    return fail(denied ? Code::kPermissionDenied : Code::kInternal,
                printable(folder.string()) + ": " + error.message());
  }
  std::ranges::sort(files);
  return files;
}

bool isNamedOnnx(const fs::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension == ".onnx";
}

// Files that cannot be read are no candidates: whoever names one is told why.
Format formatOfFile(const fs::path& file) {
  const auto map = MappedFile::open(file.string());
  return map ? formatOf((*map)->bytes()) : Format::kOther;
}

std::vector<fs::path> modelsAmong(const std::vector<fs::path>& files) {
  std::vector<fs::path> models;
  std::ranges::copy_if(files, std::back_inserter(models), [](const fs::path& file) {
    return isNamedOnnx(file) || formatOfFile(file) != Format::kOther;
  });
  return models;
}

std::string namesOf(const std::vector<fs::path>& files) {
  std::string names;
  for (std::size_t i = 0; i < std::min(files.size(), kMaxNamed); ++i)
    names += (i > 0 ? ", " : "") + printable(files[i].filename().string());
  return files.size() > kMaxNamed ? names + ", ..." : names;
}

bool has(const std::vector<fs::path>& files, std::string_view name) {
  return std::ranges::any_of(files, [&](const fs::path& file) { return file.filename() == name; });
}

Error noModel(const std::string& path, const std::vector<fs::path>& files) {
  const bool weightsAlone =
      std::ranges::any_of(files, [](const fs::path& file) { return file.extension() == ".safetensors"; });
  if (weightsAlone)
    return {Code::kNotFound,
            printable(path) +
                ": weights without a program; export the model as ONNX or StableHLO into this folder",
            {}};
  return {Code::kNotFound,
          printable(path) + ": no model in this folder" +
              (files.empty() ? ", which has no files" : ", only " + namesOf(files)) +
              "; name the model's file",
          {}};
}

}  // namespace

Result<FolderModel> modelInFolder(const std::string& path) {
  KILN_ASSIGN(const std::vector<fs::path> files, filesIn(path));
  std::vector<fs::path> models = modelsAmong(files);
  const fs::path below = fs::path(path) / "onnx";
  std::error_code ignored;
  if (models.empty() && fs::is_directory(below, ignored)) {
    KILN_ASSIGN(const std::vector<fs::path> exported, filesIn(below));
    models = modelsAmong(exported);
  }
  if (models.empty()) return fail(noModel(path, files));
  if (models.size() > 1)
    return fail(Code::kInvalidArgument, printable(path) + ": " + std::to_string(models.size()) +
                                            " models in this folder (" + namesOf(models) +
                                            "); name the file of one");
  FolderModel found{models.front().string(), {}};
  if (formatOfFile(models.front()) != Format::kStableHlo) return found;
  const auto* const weights =
      std::ranges::find_if(kWeights, [&](std::string_view name) { return has(files, name); });
  if (weights != std::end(kWeights)) found.parameters.push_back((fs::path(path) / *weights).string());
  return found;
}

Result<FolderModel> modelAt(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return modelInFolder(path);
  return FolderModel{path, {}};
}

}  // namespace kiln::frontend
