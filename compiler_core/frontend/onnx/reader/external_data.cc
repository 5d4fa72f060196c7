#include "compiler_core/frontend/onnx/reader/external_data.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <functional>
#include <set>

#include "compiler_core/frontend/onnx/reader/tensor_data.h"
#include "manifest/base/printable.h"
#include "manifest/spec/external_path.h"

namespace kiln::onnx {
namespace {

struct Reference {
  std::string path;  // plain (externalPath)
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
    return invalid("external data " + std::string(key) + " " + inQuotes(text) +
                   " is no number of bytes (0 or more, below 2^64)");
  return value;
}

Result<Reference> reference(const Tensor& tensor) {
  Reference result;
  std::string_view location;
  for (const auto& [key, value] : tensor.external) {
    if (key == "location") {
      location = value;
    } else if (key == "offset") {
      KILN_ASSIGN(result.offset, number(key, value));
    } else if (key == "length") {
      KILN_ASSIGN(std::uint64_t length, number(key, value));
      result.length = length;
    }
  }
  KILN_ASSIGN(result.path, externalPath(location));
  return result;
}

std::string title(const Tensor& tensor) {
  return "tensor " + inQuotes(tensor.name);
}

// Calls `visit` for each external tensor of a graph and of those in its nodes.
Status visitExternal(const Graph& graph, const std::function<Status(const Tensor&)>& visit) {
  for (const Tensor& tensor : graph.initializers)
    if (tensor.isExternal) KILN_TRY(visit(tensor));
  for (const Node& node : graph.nodes)
    for (const Attribute& attribute : node.attributes) {
      if (attribute.t && attribute.t->isExternal) KILN_TRY(visit(*attribute.t));
      for (const Graph& inner : attribute.graphs) KILN_TRY(visitExternal(inner, visit));
    }
  return {};
}

Status visitExternal(const Model& model, const std::function<Status(const Tensor&)>& visit) {
  KILN_TRY(visitExternal(model.graph, visit));
  for (const Function& function : model.functions) KILN_TRY(visitExternal(function.graph, visit));
  return {};
}

// Whether `where` is `needed` bytes of a file of `available`.
Status checkRange(const Reference& where, std::uint64_t needed, std::uint64_t available) {
  const std::uint64_t length = where.length.value_or(needed);
  if (length != needed)
    return invalid("external data length is " + std::to_string(length) + " bytes, the shape needs " +
                   std::to_string(needed));
  if (where.offset <= available && length <= available - where.offset) return {};
  return invalid("external data file " + inQuotes(where.path) + " has " + std::to_string(available) +
                 " bytes; " + std::to_string(length) + " bytes from " + std::to_string(where.offset) +
                 " on are asked for");
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> ExternalData::open(const std::string& path) {
  if (auto it = files_.find(path); it != files_.end()) return it->second;
  const std::string name = "external data file " + inQuotes(path);
  int directory = ::open(directory_.empty() ? "." : directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return fail(errnoError(errno, "opening the model's directory " + directory_));
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const bool last = end == path.size();
    const int flags = O_NOFOLLOW | O_CLOEXEC | (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
    const int next = ::openat(directory, path.substr(begin, end - begin).c_str(), flags);
    const int error = errno;
    begin = end + 1;
    ::close(directory);
    if (next < 0) {
      if (error == ELOOP || error == ENOTDIR)
        return invalid(
            name + " is reached through a symbolic link or something that is no directory; copy the file");
      if (error == ENOENT)
        return fail(Code::kNotFound, name + " is not there: the model keeps weights in it; put the file at " +
                                         (directory_.empty() ? path : directory_ + "/" + path));
      return fail(errnoError(error, "opening " + name));
    }
    directory = next;
  }
  KILN_ASSIGN(auto file, MappedFile::fromDescriptor(directory, name));
  files_.emplace(path, file);
  return file;
}

Result<ExternalData::View> ExternalData::find(const Tensor& tensor, std::uint64_t size) {
  KILN_ASSIGN(Reference where, reference(tensor));
  KILN_ASSIGN(auto file, open(where.path));
  KILN_TRY(checkRange(where, size, file->bytes().size()));
  return View{file->bytes().subspan(static_cast<std::size_t>(where.offset), static_cast<std::size_t>(size)),
              file};
}

Result<std::vector<std::string>> externalFiles(const Model& model) {
  std::set<std::string> paths;
  KILN_TRY(visitExternal(model, [&](const Tensor& tensor) -> Status {
    auto where = reference(tensor);
    if (!where) return fail(where.error().in(title(tensor)));
    paths.insert(where->path);
    return {};
  }));
  return std::vector<std::string>(paths.begin(), paths.end());
}

Status checkExternal(const Model& model, const ExternalSizes& sizes) {
  return visitExternal(model, [&](const Tensor& tensor) -> Status {
    auto where = reference(tensor);
    if (!where) return fail(where.error().in(title(tensor)));
    // What no build serves is named elsewhere.
    const auto needed = bytesInFile(tensor);
    if (!needed && needed.error().code == Code::kUnimplemented) return {};
    if (!needed) return fail(needed.error().in(title(tensor)));
    const auto size = sizes.find(where->path);
    if (size == sizes.end()) return {};
    if (auto fits = checkRange(*where, *needed, size->second); !fits)
      return fail(fits.error().in(title(tensor)));
    return {};
  });
}

}  // namespace kiln::onnx
