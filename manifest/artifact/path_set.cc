#include "manifest/artifact/path_set.h"

#include "manifest/base/printable.h"

namespace kiln {

Status PathSet::add(const std::string& path) {
  auto bad = [&](const char* why) {
    return fail(Code::kInvalidArgument, "its path " + inQuotes(path) + " " + why);
  };
  for (const char* own : {"artifact.json", "manifest.json", "bundles", "fixtures"})
    if (path == own || path.starts_with(std::string(own) + "/"))
      return bad("is kept for the artifact's own files");
  if (directories_.contains(path)) return bad("is a directory of another file");
  if (!files_.insert(path).second) return bad("is taken by another file");
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    std::string parent = path.substr(0, slash);
    if (files_.contains(parent)) return bad("is below another file");
    directories_.insert(std::move(parent));
  }
  return {};
}

}  // namespace kiln
