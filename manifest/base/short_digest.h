// Digests as people type them: only as many digits as tell them apart.
#pragma once

#include <optional>
#include <string_view>

#include "manifest/base/digest.h"

namespace kiln {

// All hashes that begin as a short digest does, both ends included. Sizes are 0.
struct DigestRange {
  Digest first, last;
};

// "sha256:" and the first 12 to 63 lowercase hex digits; nothing for any other text, a whole digest included.
std::optional<DigestRange> shortDigestRange(std::string_view text);

}  // namespace kiln
