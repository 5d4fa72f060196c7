#include "manifest/spec/path.h"

#include "manifest/base/utf8.h"

namespace kiln {

Status checkRelativePath(std::string_view path) {
  auto bad = [&](const char* why) {
    return fail(Code::kInvalidArgument, std::string("unsafe path: ") + why);
  };
  if (path.empty() || path.size() > 1024) return bad("must have 1 to 1024 bytes");
  if (!isUtf8(path)) return bad("is not UTF-8");
  for (unsigned char c : path)
    if (c < 0x20 || c == 0x7f || c == '\\') return bad("has a control character or a backslash");
  while (true) {
    std::size_t slash = path.find('/');
    std::string_view part = path.substr(0, slash);
    if (part.empty()) return bad("is absolute or has an empty component");
    if (part == "." || part == "..") return bad("has a \".\" or \"..\" component");
    if (slash == std::string_view::npos) return {};
    path.remove_prefix(slash + 1);
  }
}

}  // namespace kiln
