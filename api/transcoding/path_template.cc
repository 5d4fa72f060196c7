#include "api/transcoding/path_template.h"

#include <algorithm>
#include <cctype>

namespace kiln::transcoding {
namespace {

bool isWord(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

// The segment before the next '/', which is taken from `rest` as well.
std::string_view takeSegment(std::string_view& rest) {
  const std::string_view segment = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
  return segment;
}

}  // namespace

Result<PathTemplate> PathTemplate::parse(std::string_view text) {
  const auto bad = [&](const char* why) {
    return fail(Code::kInvalidArgument, "the path " + std::string(text) + ": " + why);
  };
  PathTemplate out;
  out.text_ = text;
  std::string_view rest = text;
  if (const auto colon = rest.rfind(':'); colon != std::string_view::npos) {
    out.verb_ = rest.substr(colon + 1);
    if (!isWord(out.verb_)) return bad("':' wants a verb behind it");
    rest = rest.substr(0, colon);
  }
  if (!rest.starts_with('/') || rest.ends_with('/')) return bad("it begins with '/', and does not end so");
  rest.remove_prefix(1);
  while (!rest.empty()) {
    std::string_view segment = takeSegment(rest);
    const bool field = segment.starts_with('{') && segment.ends_with('}');
    if (field) segment = segment.substr(1, segment.size() - 2);
    if (!isWord(segment)) return bad("a segment is a word or a {field}");
    out.segments_.push_back({field ? "" : std::string(segment)});
    if (!field) continue;
    if (std::ranges::find(out.fields_, segment) != out.fields_.end())
      return bad("a field stands in it twice");
    out.fields_.emplace_back(segment);
  }
  return out;
}

std::optional<std::vector<std::string_view>> PathTemplate::match(std::string_view path) const {
  if (!path.starts_with('/') || path.ends_with('/')) return std::nullopt;
  path.remove_prefix(1);
  if (!verb_.empty()) {
    if (!path.ends_with(":" + verb_)) return std::nullopt;
    path.remove_suffix(verb_.size() + 1);
  }
  std::vector<std::string_view> out;
  for (const Segment& wanted : segments_) {
    const std::string_view segment = takeSegment(path);
    if (segment.empty() || (!wanted.literal.empty() && segment != wanted.literal)) return std::nullopt;
    if (wanted.literal.empty()) out.push_back(segment);
  }
  return path.empty() ? std::optional(out) : std::nullopt;
}

}  // namespace kiln::transcoding
