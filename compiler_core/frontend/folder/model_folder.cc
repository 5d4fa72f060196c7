#include "compiler_core/frontend/folder/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "manifest/base/mapped_file.h"
#include "manifest/base/printable.h"

namespace kiln::frontend {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNamed = 8;
constexpr std::string_view kWeights[] = {kWeightsIndex, "model.safetensors"};
constexpr char kExported[] = "onnx";

// The names of the regular files of a folder, links followed, sorted.
Result<std::vector<std::string>> filesIn(const fs::path& folder) {
  std::vector<std::string> files;
  std::size_t entries = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (++entries > kMaxFolderEntries)
      return fail(Code::kInvalidArgument, printable(folder.string()) + ": more than " +
                                              std::to_string(kMaxFolderEntries) +
                                              " entries; name the model's file");
    std::error_code ignored;
    if (it->is_regular_file(ignored)) files.push_back(it->path().filename().string());
  }
  if (error) {
    const bool denied = error == std::errc::permission_denied;
    return fail(denied ? Code::kPermissionDenied : Code::kInternal,
                printable(folder.string()) + ": " + error.message());
  }
  std::ranges::sort(files);
  return files;
}

bool isNamedOnnx(const std::string& file) {
  std::string extension = fs::path(file).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension == ".onnx";
}

// Files that cannot be read are no candidates: whoever names one is told why.
Format formatOfFile(const fs::path& file) {
  const auto map = MappedFile::open(file.string());
  return map ? formatOf((*map)->bytes()) : Format::kOther;
}

// `files` lie at `below`, "" or with a slash at its end; the models keep that.
Result<std::vector<std::string>> modelsAmong(const FolderView& view, const std::string& below,
                                             const std::vector<std::string>& files) {
  std::vector<std::string> models;
  for (const std::string& file : files) {
    bool isModel = isNamedOnnx(file);
    if (!isModel && !file.ends_with(".safetensors")) {
      KILN_ASSIGN(isModel, view.isModel(below + file));
    }
    if (isModel) models.push_back(below + file);
  }
  return models;
}

std::string namesOf(const std::vector<std::string>& files) {
  std::string names;
  for (std::size_t i = 0; i < std::min(files.size(), kMaxNamed); ++i)
    names += (i > 0 ? ", " : "") + printable(fs::path(files[i]).filename().string());
  return files.size() > kMaxNamed ? names + ", ..." : names;
}

Error noModel(const std::string& path, const std::vector<std::string>& files) {
  const bool weightsAlone =
      std::ranges::any_of(files, [](const std::string& file) { return file.ends_with(".safetensors"); });
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

Result<ChosenModel> chooseModel(const std::string& path, const FolderView& view) {
  KILN_ASSIGN(const std::vector<std::string> files, view.files(""));
  KILN_ASSIGN(std::vector<std::string> models, modelsAmong(view, "", files));
  if (models.empty()) {
    KILN_ASSIGN(const std::vector<std::string> exported, view.files(kExported));
    KILN_ASSIGN(models, modelsAmong(view, std::string(kExported) + "/", exported));
  }
  if (models.empty()) return fail(noModel(path, files));
  if (models.size() > 1)
    return fail(Code::kInvalidArgument, printable(path) + ": " + std::to_string(models.size()) +
                                            " models in this folder (" + namesOf(models) +
                                            "); name the file of one");
  ChosenModel chosen{models.front(), ""};
  const auto* const weights = std::ranges::find_if(
      kWeights, [&](std::string_view name) { return std::ranges::find(files, name) != files.end(); });
  if (weights != std::end(kWeights)) chosen.weights = *weights;
  return chosen;
}

bool takesWeights(Format format) {
  return format == Format::kStableHlo;
}

Result<FolderModel> modelInFolder(const std::string& path) {
  const fs::path folder(path);
  const FolderView view{
      [&](const std::string& below) -> Result<std::vector<std::string>> {
        std::error_code ignored;
        if (!below.empty() && !fs::is_directory(folder / below, ignored)) return std::vector<std::string>();
        return filesIn(folder / below);
      },
      [&](const std::string& file) -> Result<bool> { return formatOfFile(folder / file) != Format::kOther; }};
  KILN_ASSIGN(const ChosenModel chosen, chooseModel(path, view));
  FolderModel found{(folder / chosen.model).string(), {}};
  if (!chosen.weights.empty() && takesWeights(formatOfFile(folder / chosen.model)))
    found.parameters.push_back((folder / chosen.weights).string());
  return found;
}

Result<FolderModel> modelAt(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return modelInFolder(path);
  return FolderModel{path, {}};
}

}  // namespace kiln::frontend
