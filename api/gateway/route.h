// Request targets of the gateway, parsed strictly: no percent-encoding, no empty segments, no query.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::gateway {

enum class RouteKind { kHealth, kMetrics, kBase, kManifest, kBlob, kCheckpoint, kTile };

struct Route {
  RouteKind kind = RouteKind::kBase;
  std::string instance;  // kManifest, kBlob
  Digest hash;           // size 0
  std::string tile;      // kTile: the path of a tile as signing/log/tile_path.h writes it
};

// kNotFound for an unknown path, kInvalidArgument for a reference that is not "sha256:<64 hex>" (tags are not
// served).
Result<Route> parseRoute(std::string_view target);

struct ByteRange {
  std::uint64_t offset = 0, length = 0;
};
// One range of a Range header, "bytes=a-b", "bytes=a-" or "bytes=-n", against a blob of `size` bytes.
// kOutOfRange when it starts behind the end; kInvalidArgument for anything else, several ranges included.
Result<ByteRange> parseRange(std::string_view header, std::uint64_t size);

}  // namespace kiln::gateway
