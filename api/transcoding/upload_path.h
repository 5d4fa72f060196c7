// The one path below /api/ that is no RPC's: a blob is put there, and its bytes are the body.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::transcoding {

inline constexpr std::string_view kUploadPath = "/api/v1/instances/{instance}/blobs/{digest}";

struct UploadName {
  std::string instance;
  Digest digest;  // its size is 0: a request says it elsewhere
};

// Whether a path without its query is one of these.
bool isUploadPath(std::string_view path);

// What such a path names. kInvalidArgument for what is no "sha256:<hex>", and as percentDecode() has it.
Result<UploadName> parseUploadPath(std::string_view path);

}  // namespace kiln::transcoding
