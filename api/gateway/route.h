// Request targets of the gateway, parsed strictly: no percent-encoding, no empty segments; a query
// only where one is defined, artifactType of referrers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::gateway {

enum class RouteKind { kHealth, kMetrics, kBase, kManifest, kBlob, kReferrers, kCheckpoint, kTile, kPage };
inline constexpr RouteKind kEveryRoute[] = {
    RouteKind::kHealth,    RouteKind::kMetrics,    RouteKind::kBase, RouteKind::kManifest, RouteKind::kBlob,
    RouteKind::kReferrers, RouteKind::kCheckpoint, RouteKind::kTile, RouteKind::kPage};

struct Route {
  RouteKind kind = RouteKind::kBase;
  std::string instance;           // kManifest, kBlob, kReferrers
  Digest hash;                    // size 0
  std::string tile;               // kTile: the path of a tile as signing/log/tile_path.h writes it
  std::string artifactType = {};  // kReferrers: of those asked for; "" for all
  std::string file = {};          // kPage: its path, "/" for the page itself
  bool image = false;             // kManifest: of an image of the artifact with this hash
};

// Before the hexadecimal digits of an artifact's digest it makes the tag of its container image.
inline constexpr std::string_view kImageTag = "image-";

// kNotFound for an unknown path, kInvalidArgument for a reference that is neither "sha256:<64 hex>" nor, of a
// manifest, "image-<64 hex>" (no other tag is served).
Result<Route> parseRoute(std::string_view target);

struct ByteRange {
  std::uint64_t offset = 0, length = 0;
};
// One range of a Range header, "bytes=a-b", "bytes=a-" or "bytes=-n", against a blob of `size` bytes.
// nullopt for another unit than bytes, which RFC 9110 (14.2) wants ignored. kOutOfRange when it starts behind
// the end; kInvalidArgument for anything else, several ranges included.
Result<std::optional<ByteRange>> parseRange(std::string_view header, std::uint64_t size);

// Which entity tags are the same (RFC 9110 8.8.3.2): a weak one is no strong one's equal for If-Match.
enum class Tags { kWeak, kStrong };
// Whether an If-None-Match or If-Match header ("*", or entity tags with commas between them) names `tag`.
bool namesTag(std::string_view header, std::string_view tag, Tags tags = Tags::kWeak);

}  // namespace kiln::gateway
