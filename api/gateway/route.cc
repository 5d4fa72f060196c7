#include "api/gateway/route.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <charconv>
#include <optional>
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

int hexDigit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

// A media type in a query, where '/' and '+' may be percent-encoded.
Result<std::string> parseArtifactType(std::string_view query) {
  constexpr std::string_view kName = "artifactType=";
  const auto bad = fail(Code::kInvalidArgument, "the only query is artifactType=<media type>");
  if (!query.starts_with(kName) || query.size() > 512) return bad;
  query.remove_prefix(kName.size());
  std::string out;
  for (std::size_t i = 0; i < query.size(); ++i) {
    char c = query[i];
    if (c == '%') {
      if (i + 2 >= query.size() || hexDigit(query[i + 1]) < 0 || hexDigit(query[i + 2]) < 0) return bad;
      c = static_cast<char>(hexDigit(query[i + 1]) * 16 + hexDigit(query[i + 2]));
      i += 2;
    }
    if (c <= ' ' || c > '~' || c == '&') return bad;
    out += c;
  }
  return out;
}

}  // namespace

Result<Route> parseRoute(std::string_view target) {
  if (target == "/healthz") return Route{.kind = RouteKind::kHealth};
  if (target == "/metrics") return Route{.kind = RouteKind::kMetrics};
  if (target == "/v2/" || target == "/v2") return Route{.kind = RouteKind::kBase};
  if (target == "/log/checkpoint") return Route{.kind = RouteKind::kCheckpoint};
  if (target == "/" || target.starts_with("/console."))
    return Route{.kind = RouteKind::kPage, .file = std::string(target)};
  if (target.starts_with("/log/tile/")) {
    if (!signing::TilePath::parse(target.substr(5))) return fail(Code::kNotFound, "no log has such a tile");
    return Route{.kind = RouteKind::kTile, .tile = std::string(target.substr(5))};
  }
  if (target.starts_with("/v2/")) {
    const auto question = target.find('?');
    const auto parts = split(target.substr(4, question == std::string_view::npos ? question : question - 4));
    const auto kind = parts.size() != 4         ? std::nullopt
                      : parts[2] == "manifests" ? std::optional(RouteKind::kManifest)
                      : parts[2] == "blobs"     ? std::optional(RouteKind::kBlob)
                      : parts[2] == "referrers" ? std::optional(RouteKind::kReferrers)
                                                : std::nullopt;
    const bool query = question != std::string_view::npos;
    if (kind && validInstance(parts[0]) && parts[1] == "artifacts" &&
        (!query || kind == RouteKind::kReferrers)) {
      const bool image = kind == RouteKind::kManifest && parts[3].starts_with(kImageTag);
      const auto hash = image ? Digest::parse("sha256:" + std::string(parts[3].substr(kImageTag.size())), 0)
                        : parts[3].starts_with("sha256:") ? Digest::parse(parts[3], 0)
                                                          : fail(Code::kInvalidArgument, "not a digest");
      if (!hash) {
        return fail(Code::kInvalidArgument,
                    "artifacts are pulled by digest, sha256:<64 lowercase hex digits>; the only tags are "
                    "those of their container images, image-<the same digits>");
      }
      Route route{.kind = *kind, .instance = std::string(parts[0]), .hash = *hash, .image = image};
      if (query) {
        KILN_ASSIGN(route.artifactType, parseArtifactType(target.substr(question + 1)));
      }
      return route;
    }
  }
  return fail(Code::kNotFound,
              "nothing is served here; there are / for browsers, /api/v1/ with /openapi.json, "
              "/v2/<instance>/artifacts/{manifests,blobs,referrers}/<digest>, /log/checkpoint, "
              "/log/tile/..., /metrics "
              "and /healthz, as far as this side has them");
}

Result<std::optional<ByteRange>> parseRange(std::string_view header, std::uint64_t size) {
  const auto malformed = fail(Code::kInvalidArgument, "Range must be one range in bytes");
  const auto equals = header.find('=');
  if (equals == std::string_view::npos) return malformed;
  if (!boost::beast::iequals({header.data(), equals}, "bytes")) return std::nullopt;
  header.remove_prefix(equals + 1);
  const auto dash = header.find('-');
  if (dash == std::string_view::npos || header.find(',') != std::string_view::npos) return malformed;
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

bool namesTag(std::string_view header, std::string_view tag, Tags tags) {
  while (!header.empty()) {
    const auto comma = header.find(',');
    std::string_view one = header.substr(0, comma);
    header.remove_prefix(comma == std::string_view::npos ? header.size() : comma + 1);
    while (one.starts_with(' ') || one.starts_with('\t')) one.remove_prefix(1);
    while (one.ends_with(' ') || one.ends_with('\t')) one.remove_suffix(1);
    if (one == "*") return true;
    if (tags == Tags::kWeak && one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag) return true;
  }
  return false;
}

}  // namespace kiln::gateway
