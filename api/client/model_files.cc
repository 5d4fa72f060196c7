#include "api/client/model_files.h"

#include <algorithm>
#include <climits>
#include <filesystem>

#include "compiler_core/frontend/onnx/foreign_file.h"
#include "compiler_core/frontend/onnx/mapped_file.h"
#include "manifest/base/printable.h"
#include "manifest/spec/compile_spec.h"
#include "manifest/spec/external_path.h"
#include "manifest/spec/path.h"
#include "storage/source/onnx_external.h"

namespace kiln::client {
namespace fs = std::filesystem;
namespace {

Error invalidModel(std::string message) {
  return {Code::kInvalidArgument, std::move(message), R"({"exitCode":3})"};
}

bool isInside(const fs::path& file, const fs::path& directory) {
  const auto relative = file.lexically_relative(directory);
  return !relative.empty() && *relative.begin() != "..";
}

// "FILE" is named relative to the model's directory when it lies there, else by its last segment.
Result<ModelFileOnDisk> named(const std::string& argument, const fs::path& home) {
  const auto equals = argument.find('=');
  ModelFileOnDisk file;
  if (equals != std::string::npos) {
    file = {argument.substr(0, equals), argument.substr(equals + 1)};
  } else {
    std::error_code error;
    const auto real = fs::weakly_canonical(argument, error);
    const auto name = isInside(real, home) ? real.lexically_relative(home) : fs::path(argument).filename();
    file = {name.generic_string(), argument};
  }
  if (!checkRelativePath(file.name)) {
    return fail(Code::kInvalidArgument,
                "--data " + argument + ": \"" + file.name + "\" is no plain relative path");
  }
  return file;
}

// A repository without its large files holds pointers in their places.
Status checkFetched(const std::string& path) {
  constexpr std::uint64_t kMostPointer = 1024;
  std::error_code error;
  if (const auto size = fs::file_size(path, error); error || size == 0 || size > kMostPointer) return {};
  KILN_ASSIGN(const auto file, onnx::MappedFile::open(path));
  if (!onnx::isLfsPointer(file->bytes(), file->bytes().size())) return {};
  return fail(
      invalidModel(path +
                   ": the model keeps weights there, and it is a Git LFS pointer: fetch the file itself "
                   "with git lfs pull"));
}

}  // namespace

onnx::ExternalSizes externalSizes(const std::vector<ModelFileOnDisk>& files) {
  onnx::ExternalSizes sizes;
  for (std::size_t i = 1; i < files.size(); ++i) {
    std::error_code error;
    const auto size = fs::file_size(files[i].path, error);
    if (!error) sizes[files[i].name] = size;
  }
  return sizes;
}

Result<std::string> externalPathOf(const std::string& model, const std::string& location) {
  auto path = externalPath(location);
  if (!path) return fail(invalidModel(model + ": " + path.error().message));
  if (isModelFileName(*path) || *path == "spec.json")
    return fail(invalidModel(model + ": its external data is called " + inQuotes(*path) +
                             ", which a build uses for a file of its own; save the data under another name"));
  return path;
}

Result<std::vector<ModelFileOnDisk>> findModelFiles(const std::string& model,
                                                    const std::vector<std::string>& data) {
  std::error_code error;
  const auto status = fs::status(model, error);
  if (!fs::exists(status)) return fail(Code::kNotFound, model + ": no such model file");
  if (!fs::is_regular_file(status)) return fail(Code::kInvalidArgument, model + ": not a regular file");
  const auto home = fs::weakly_canonical(fs::absolute(model).parent_path(), error);

  // The farm only shows the model's name, and the wire carries no name that is not UTF-8.
  std::vector<ModelFileOnDisk> files{{printable(fs::path(model).filename().string(), NAME_MAX), model}};
  for (const auto& argument : data) {
    KILN_ASSIGN(auto file, named(argument, home));
    if (!fs::is_regular_file(file.path, error)) return fail(Code::kNotFound, file.path + ": no such file");
    files.push_back(std::move(file));
  }
  KILN_ASSIGN(const auto locations, source::externalLocationsOfFile(model));
  for (const auto& stated : locations) {
    KILN_ASSIGN(const std::string location, externalPathOf(model, stated));
    const auto isNamed = [&](const ModelFileOnDisk& file) { return file.name == location; };
    if (std::any_of(files.begin() + 1, files.end(), isNamed)) continue;
    const auto path = home / location;
    if (const auto kind = fs::status(path, error); fs::exists(kind) && !fs::is_regular_file(kind))
      return fail(invalidModel(path.string() + ": the model keeps weights there, and it is no regular file"));
    if (!fs::is_regular_file(path, error)) {
      return fail(Code::kNotFound, path.string() +
                                       ": the model keeps weights there; put the file there or give --data " +
                                       location + "=FILE");
    }
    if (!isInside(fs::canonical(path, error), home)) {
      return fail(invalidModel(path.string() +
                               ": a link out of the model's directory; if that is meant, give --data " +
                               location + "=FILE"));
    }
    KILN_TRY(checkFetched(path.string()));
    files.push_back({location, path.string()});
  }
  return files;
}

}  // namespace kiln::client
