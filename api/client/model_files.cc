#include "api/client/model_files.h"

#include <algorithm>
#include <filesystem>

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
  if (!isPlainRelativePath(file.name)) {
    return fail(Code::kInvalidArgument,
                "--data " + argument + ": \"" + file.name + "\" is no plain relative path");
  }
  return file;
}

}  // namespace

bool isPlainRelativePath(const std::string& location) {
  if (location.empty() || location.size() > 1024 || location.front() == '/') return false;
  if (std::any_of(location.begin(), location.end(),
                  [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '\\'; }))
    return false;
  for (std::size_t begin = 0; begin <= location.size();) {
    const auto end = std::min(location.find('/', begin), location.size());
    const auto segment = location.substr(begin, end - begin);
    if (segment.empty() || segment == "." || segment == "..") return false;
    begin = end + 1;
  }
  return true;
}

Result<std::vector<ModelFileOnDisk>> findModelFiles(const std::string& model,
                                                    const std::vector<std::string>& data) {
  std::error_code error;
  const auto status = fs::status(model, error);
  if (!fs::exists(status)) return fail(Code::kNotFound, model + ": no such model file");
  if (!fs::is_regular_file(status)) return fail(Code::kInvalidArgument, model + ": not a regular file");
  const auto home = fs::weakly_canonical(fs::absolute(model).parent_path(), error);

  std::vector<ModelFileOnDisk> files{{fs::path(model).filename().string(), model}};
  for (const auto& argument : data) {
    KILN_ASSIGN(auto file, named(argument, home));
    if (!fs::is_regular_file(file.path, error)) return fail(Code::kNotFound, file.path + ": no such file");
    files.push_back(std::move(file));
  }
  KILN_ASSIGN(const auto locations, source::externalLocationsOfFile(model));
  for (const auto& location : locations) {
    const auto isNamed = [&](const ModelFileOnDisk& file) { return file.name == location; };
    if (std::any_of(files.begin() + 1, files.end(), isNamed)) continue;
    if (!isPlainRelativePath(location)) {
      return fail(invalidModel(model + ": its external data is at \"" + location +
                               "\", outside the model's directory; such a model is refused"));
    }
    const auto path = home / location;
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
    files.push_back({location, path.string()});
  }
  return files;
}

}  // namespace kiln::client
