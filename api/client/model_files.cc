#include "api/client/model_files.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <ranges>

#include "api/client/model_check.h"
#include "compiler_core/frontend/onnx/reader/foreign_file.h"
#include "manifest/base/mapped_file.h"
#include "manifest/base/presence.h"
#include "manifest/base/printable.h"
#include "manifest/spec/compile_spec.h"
#include "manifest/spec/external_path.h"
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

// What the model names is said, so that the next command can name it.
Error unnamed(const std::string& argument, const std::vector<std::string>& locations) {
  constexpr std::size_t kMaxNamed = 8;
  std::string known;
  for (const std::string& location : locations | std::views::take(kMaxNamed))
    known += (known.empty() ? "" : ", ") + inQuotes(location);
  if (locations.size() > kMaxNamed) known += ", ...";
  return {Code::kInvalidArgument,
          "--data " + printable(argument) + ": the model names no such file; it keeps " +
              (known.empty() ? "nothing outside itself, so leave --data out"
                             : "weights in " + known + ": give --data NAME=FILE"),
          {}};
}

// `missing` where nothing lies there; what keeps one from knowing is said as it is.
Status checkThere(const std::string& path, const std::string& missing) {
  auto there = checkPresent(path);
  if (!there && there.error().code == Code::kNotFound) return fail(Code::kNotFound, missing);
  return there;
}

// "NAME=FILE" where the model names NAME. Else a "FILE", which is called as it lies in the model's directory,
// or by its last segment.
Result<ModelFileOnDisk> named(const std::string& argument, const fs::path& home,
                              const std::vector<std::string>& locations) {
  const auto isKnown = [&](const std::string& name) {
    return std::ranges::find(locations, name) != locations.end();
  };
  for (std::size_t cut = argument.size(); cut > 0 && (cut = argument.rfind('=', cut - 1)) != argument.npos;)
    if (std::string name = argument.substr(0, cut); isKnown(name))
      return ModelFileOnDisk{std::move(name), argument.substr(cut + 1)};
  std::error_code error;
  const auto real = fs::weakly_canonical(argument, error);
  const auto name = isInside(real, home) ? real.lexically_relative(home) : fs::path(argument).filename();
  if (!isKnown(name.generic_string())) return fail(unnamed(argument, locations));
  return ModelFileOnDisk{name.generic_string(), argument};
}

// As findModelFiles() takes them.
Result<std::vector<ModelFileOnDisk>> dataFiles(const std::string& model, const fs::path& home,
                                               const std::vector<std::string>& data,
                                               const std::vector<std::string>& locations) {
  std::vector<ModelFileOnDisk> files;
  for (const std::string& argument : data) {
    auto file = named(argument, home, locations);
    if (!file) {
      // Of what is no model at all it would be beside the point.
      KILN_ASSIGN(const auto bytes, MappedFile::open(model));
      if (isOnnx(bytes->bytes())) KILN_TRY(readModel(bytes->bytes(), model));
      return fail(file.error());
    }
    if (std::ranges::find(files, file->name, &ModelFileOnDisk::name) != files.end())
      return fail(Code::kInvalidArgument,
                  "--data " + printable(argument) + ": " + inQuotes(file->name) + " is given twice");
    std::error_code error;
    KILN_TRY(checkThere(file->path, "--data " + printable(argument) + ": no such file"));
    if (!fs::is_regular_file(file->path, error))
      return fail(Code::kNotFound, "--data " + printable(argument) + ": no such file");
    files.push_back(std::move(*file));
  }
  return files;
}

// Other formats keep all in one file.
Result<std::vector<std::string>> statedLocations(const std::string& model) {
  KILN_ASSIGN(const auto bytes, MappedFile::open(model));
  if (!isOnnx(bytes->bytes())) return std::vector<std::string>();
  return source::externalLocationsOfFile(model);
}

// A repository without its large files holds pointers in their places.
Status checkFetched(const std::string& path) {
  constexpr std::uint64_t kMaxPointer = 1024;
  std::error_code error;
  if (const auto size = fs::file_size(path, error); error || size == 0 || size > kMaxPointer) return {};
  KILN_ASSIGN(const auto file, MappedFile::open(path));
  if (!onnx::isLfsPointer(file->bytes(), file->bytes().size())) return {};
  return fail(
      invalidModel(path +
                   ": the model keeps weights there, and it is a Git LFS pointer: fetch the file itself "
                   "with git lfs pull"));
}

// A location that `model` states as its path.
Result<std::string> externalPathOf(const std::string& model, const std::string& location) {
  auto path = externalPath(location);
  if (!path) return fail(invalidModel(model + ": " + path.error().message));
  if (isModelFileName(*path) || *path == "spec.json")
    return fail(invalidModel(model + ": its external data is called " + inQuotes(*path) +
                             ", which a build uses for a file of its own; save the data under another name"));
  return path;
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

Result<std::vector<ModelFileOnDisk>> findModelFiles(const std::string& model,
                                                    const std::vector<std::string>& data) {
  std::error_code error;
  KILN_TRY(checkThere(model, model + ": no such model file"));
  if (!fs::is_regular_file(model, error)) return fail(Code::kInvalidArgument, model + ": not a regular file");
  const auto home = fs::weakly_canonical(fs::absolute(model).parent_path(), error);

  std::vector<std::string> locations;
  KILN_ASSIGN(const auto stated, statedLocations(model));
  for (const std::string& each : stated) {
    KILN_ASSIGN(std::string location, externalPathOf(model, each));
    locations.push_back(std::move(location));
  }
  KILN_ASSIGN(auto files, dataFiles(model, home, data, locations));
  // The farm only shows the model's name, and the wire carries no name that is not UTF-8.
  files.insert(files.begin(), {printable(fs::path(model).filename().string(), NAME_MAX), model});
  for (const std::string& location : locations) {
    const auto isNamed = [&](const ModelFileOnDisk& file) { return file.name == location; };
    if (std::any_of(files.begin() + 1, files.end(), isNamed)) continue;
    const auto path = home / location;
    if (const auto kind = fs::status(path, error); fs::exists(kind) && !fs::is_regular_file(kind))
      return fail(invalidModel(path.string() + ": the model keeps weights there, and it is no regular file"));
    KILN_TRY(checkThere(
        path.string(), path.string() + ": the model keeps weights there; put the file there or give --data " +
                           location + "=FILE"));
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
