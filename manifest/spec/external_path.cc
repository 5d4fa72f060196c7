#include "manifest/spec/external_path.h"

#include "manifest/base/printable.h"
#include "manifest/spec/path.h"

namespace kiln {

Result<std::string> externalPath(std::string_view location) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalidArgument,
                "external data file " + inQuotes(location) + " " + std::string(why) +
                    "; only plain relative paths below the model's directory are read");
  };
  if (location.empty()) return refuse("has no name");
  if (location.front() == '/') return refuse("is an absolute path");
  if (location.back() == '/') return refuse("names a directory");
  std::string path;
  for (std::size_t begin = 0; begin <= location.size();) {
    const std::size_t end = std::min(location.find('/', begin), location.size());
    const std::string_view part = location.substr(begin, end - begin);
    if (part == "..") return refuse("leaves the model's directory");
    if (part.empty()) return refuse("has an empty component");
    if (part != ".") path += (path.empty() ? "" : "/") + std::string(part);
    begin = end + 1;
  }
  if (path.empty()) return refuse("names a directory");
  if (const Status safe = checkRelativePath(path); !safe)
    return refuse("is no path: " + safe.error().message);
  return path;
}

}  // namespace kiln
