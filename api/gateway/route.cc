#include "api/gateway/route.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "signing/log/tile_path.h"

namespace kiln::gateway {
namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

bool validInstance(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

bool parseNumber(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<Route> parseRoute(std::string_view target) {
  if (target == "/healthz") return Route{.kind = RouteKind::kHealth};
  if (target == "/metrics") return Route{.kind = RouteKind::kMetrics};
  if (target == "/v2/" || target == "/v2") return Route{.kind = RouteKind::kBase};
  if (target == "/log/checkpoint") return Route{.kind = RouteKind::kCheckpoint};
  if (target.starts_with("/log/tile/")) {
    if (!signing::TilePath::parse(target.substr(5))) return fail(Code::kNotFound, "no log has such a tile");
    return Route{.kind = RouteKind::kTile, .tile = std::string(target.substr(5))};
  }
  if (target.starts_with("/v2/")) {
    const auto parts = split(target.substr(4));
    if (parts.size() == 4 && validInstance(parts[0]) && parts[1] == "artifacts" &&
        (parts[2] == "manifests" || parts[2] == "blobs")) {
      const auto hash = parts[3].starts_with("sha256:") ? Digest::parse(parts[3], 0)
                                                        : fail(Code::kInvalidArgument, "not a digest");
      if (!hash) {
        return fail(Code::kInvalidArgument,
                    "artifacts are pulled by digest, sha256:<64 lowercase hex digits>; there are no tags");
      }
      return Route{
          parts[2] == "blobs" ? RouteKind::kBlob : RouteKind::kManifest, std::string(parts[0]), *hash, {}};
    }
  }
  return fail(Code::kNotFound,
              "nothing is served here; there are /v2/<instance>/artifacts/{manifests,blobs}/<digest>, "
              "/log/checkpoint, /log/tile/..., /metrics and /healthz");
}

Result<ByteRange> parseRange(std::string_view header, std::uint64_t size) {
  const auto malformed = fail(Code::kInvalidArgument, "Range must be one range in bytes");
  if (!header.starts_with("bytes=") || header.find(',') != std::string_view::npos) return malformed;
  header.remove_prefix(6);
  const auto dash = header.find('-');
  if (dash == std::string_view::npos) return malformed;
  std::uint64_t first = 0, last = 0;
  const auto from = header.substr(0, dash), to = header.substr(dash + 1);
  if (from.empty()) {  // the last n bytes
    if (!parseNumber(to, last)) return malformed;
    const auto length = std::min(last, size);
    if (length == 0) return fail(Code::kOutOfRange, "the range is empty");
    return ByteRange{size - length, length};
  }
  if (!parseNumber(from, first)) return malformed;
  if (to.empty()) {
    last = size == 0 ? 0 : size - 1;
  } else if (!parseNumber(to, last) || last < first) {
    return malformed;
  }
  if (first >= size) return fail(Code::kOutOfRange, "the range starts behind the end of the blob");
  return ByteRange{first, std::min(last, size - 1) - first + 1};
}

}  // namespace kiln::gateway
