#include "compiler_core/frontend/onnx/external_data.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <set>

#include "compiler_core/frontend/onnx/utf8.h"

namespace kiln::onnx {
namespace {

struct Reference {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

Result<std::uint64_t> number(std::string_view key, std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return invalid("external data " + std::string(key) + " '" + std::string(text) + "' is no number");
  return value;
}

// The components of a plain relative path.
Result<std::vector<std::string>> components(const std::string& location) {
  auto refuse = [&](std::string_view why) {
    return invalid("external data file '" + location + "' " + std::string(why) +
                   "; only plain relative paths below the model's directory are read");
  };
  if (location.empty()) return refuse("has no name");
  if (location.size() > 4096)
    return invalid("external data file name of " + std::to_string(location.size()) + " bytes");
  if (location.front() == '/') return refuse("is an absolute path");
  if (location.find('\\') != std::string::npos) return refuse("contains a backslash");
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= location.size();) {
    std::size_t end = std::min(location.find('/', begin), location.size());
    std::string part = location.substr(begin, end - begin);
    if (part == "..") return refuse("leaves the model's directory");
    if (part.empty()) return refuse("has an empty component");
    if (part != ".") parts.push_back(std::move(part));
    begin = end + 1;
  }
  if (parts.empty()) return refuse("names a directory");
  return parts;
}

Result<Reference> reference(const Tensor& tensor) {
  Reference result;
  for (const auto& [key, value] : tensor.external) {
    if (key == "location") {
      result.location = value;
    } else if (key == "offset") {
      KILN_ASSIGN(result.offset, number(key, value));
    } else if (key == "length") {
      KILN_ASSIGN(std::uint64_t length, number(key, value));
      result.length = length;
    }
  }
  KILN_TRY(components(result.location));
  return result;
}

// Of a graph and those in its nodes.
Status collect(const Graph& graph, std::set<std::string>& locations) {
  const auto add = [&](const Tensor& tensor) -> Status {
    if (!tensor.isExternal) return {};
    auto where = reference(tensor);
    if (!where) return fail(where.error().in("tensor '" + std::string(tensor.name) + "'"));
    locations.insert(where->location);
    return {};
  };
  for (const Tensor& tensor : graph.initializers) KILN_TRY(add(tensor));
  for (const Node& node : graph.nodes)
    for (const Attribute& attribute : node.attributes) {
      if (attribute.t) KILN_TRY(add(*attribute.t));
      for (const Graph& inner : attribute.graphs) KILN_TRY(collect(inner, locations));
    }
  return {};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> ExternalData::open(const std::string& location) {
  if (auto it = files_.find(location); it != files_.end()) return it->second;
  KILN_ASSIGN(std::vector<std::string> parts, components(location));
  const std::string name = "external data file '" + location + "'";
  int directory = ::open(directory_.empty() ? "." : directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return fail(errnoError(errno, "opening the model's directory " + directory_));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    bool last = i + 1 == parts.size();
    int flags = O_NOFOLLOW | O_CLOEXEC | (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
    int next = ::openat(directory, parts[i].c_str(), flags);
    int error = errno;
    ::close(directory);
    if (next < 0) {
      if (error == ELOOP || error == ENOTDIR)
        return invalid(
            name + " is reached through a symbolic link or something that is no directory; copy the file");
      return fail(errnoError(error, "opening " + name));
    }
    directory = next;
  }
  KILN_ASSIGN(auto file, MappedFile::fromDescriptor(directory, name));
  files_.emplace(location, file);
  return file;
}

Result<ExternalData::View> ExternalData::find(const Tensor& tensor, std::uint64_t size) {
  KILN_ASSIGN(Reference where, reference(tensor));
  KILN_ASSIGN(auto file, open(where.location));
  std::uint64_t available = file->bytes().size();
  std::uint64_t length = where.length.value_or(size);
  if (length != size)
    return invalid("external data length is " + std::to_string(length) + " bytes, the shape needs " +
                   std::to_string(size));
  if (where.offset > available || length > available - where.offset)
    return invalid("external data file '" + where.location + "' has " + std::to_string(available) +
                   " bytes; bytes " + std::to_string(where.offset) + " to " +
                   std::to_string(where.offset + length) + " are asked for");
  return View{file->bytes().subspan(static_cast<std::size_t>(where.offset), static_cast<std::size_t>(length)),
              file};
}

Result<std::vector<std::string>> externalFiles(const Model& model) {
  std::set<std::string> locations;
  KILN_TRY(collect(model.graph, locations));
  for (const Function& function : model.functions) KILN_TRY(collect(function.graph, locations));
  return std::vector<std::string>(locations.begin(), locations.end());
}

}  // namespace kiln::onnx
