#include "storage/tree/directory.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"

namespace kiln::storage {
namespace {

Error bad(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

// Names from outside, made safe to show.
std::string shown(std::string_view name) {
  return printable(name, 80);
}

template <class Nodes>
void sortByName(Nodes* nodes) {
  std::sort(nodes->pointer_begin(), nodes->pointer_end(),
            [](const auto* a, const auto* b) { return a->name() < b->name(); });
}

template <class Nodes>
Status checkNames(const Nodes& nodes, std::set<std::string_view>& seen) {
  std::string_view last;
  for (const auto& node : nodes) {
    KILN_TRY(checkName(node.name()));
    if (!last.empty() && node.name() < last)
      return fail(bad("directory members are not sorted at '" + shown(node.name()) + "'"));
    if (!seen.insert(node.name()).second)
      return fail(bad("two directory members are named '" + shown(node.name()) + "'"));
    last = node.name();
  }
  return {};
}

template <class Nodes>
Status checkDigests(const Nodes& nodes) {
  for (const auto& node : nodes)
    if (auto digest = fromProto(node.digest()); !digest) return fail(digest.error().in(shown(node.name())));
  return {};
}

}  // namespace

Status checkName(std::string_view name) {
  if (name.empty() || name.size() > 255)
    return fail(bad(fmt::format("a name of {} bytes; 1 to 255 are allowed", name.size())));
  if (name == "." || name == "..") return fail(bad(fmt::format("'{}' is not allowed as a name", name)));
  for (unsigned char c : name)
    if (c == '/' || c < 0x20 || c == 0x7f)
      return fail(bad(fmt::format("the name '{}' has a slash or a control character", shown(name))));
  if (!isUtf8(name)) return fail(bad(fmt::format("the name '{}' is not UTF-8", shown(name))));
  return {};
}

Status checkSymlinkTarget(std::string_view target, std::size_t depth) {
  auto refuse = [&](std::string_view why) {
    return fail(bad(fmt::format("symlink target '{}' {}", shown(target), why)));
  };
  if (target.empty() || target.size() > 4095) return refuse("has a length that is not allowed");
  if (target.front() == '/') return refuse("is absolute; targets stay inside the tree");
  std::size_t ups = 0;
  bool descended = false;
  for (std::size_t start = 0; start <= target.size();) {
    std::size_t end = std::min(target.find('/', start), target.size());
    std::string_view segment = target.substr(start, end - start);
    if (segment == "..") {
      // After a name it could climb out of a directory that is itself a link.
      if (descended) return refuse("has '..' after a name");
      if (++ups > depth) return refuse("leaves the tree");
    } else {
      if (Status good = checkName(segment); !good) return refuse("has a segment that is not a name");
      descended = true;
    }
    start = end + 1;
  }
  return {};
}

Result<reapi::Directory> parseDirectory(std::string_view bytes, std::size_t depth) {
  reapi::Directory directory;
  if (!directory.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(bad("not a Directory message"));
  std::set<std::string_view> seen;
  KILN_TRY(checkNames(directory.files(), seen));
  KILN_TRY(checkNames(directory.directories(), seen));
  KILN_TRY(checkNames(directory.symlinks(), seen));
  KILN_TRY(checkDigests(directory.files()));
  KILN_TRY(checkDigests(directory.directories()));
  for (const auto& link : directory.symlinks()) KILN_TRY(checkSymlinkTarget(link.target(), depth));
  directory.DiscardUnknownFields();
  if (directory.SerializeAsString() != bytes)
    return fail(bad("a Directory message that is not in canonical form"));
  return directory;
}

std::string serialiseDirectory(reapi::Directory directory) {
  sortByName(directory.mutable_files());
  sortByName(directory.mutable_directories());
  sortByName(directory.mutable_symlinks());
  return directory.SerializeAsString();
}

}  // namespace kiln::storage
