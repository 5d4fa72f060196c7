// Digests as people type them: only as many digits as tell them apart.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln {

// All hashes that begin as a short digest does, both ends included. Sizes are 0.
struct DigestRange {
  Digest first, last;
};

// "sha256:" and the first 12 to 63 lowercase hex digits; nothing for any other text, a whole digest included.
std::optional<DigestRange> shortDigestRange(std::string_view text);

// A whole digest that a request's `member` is, "sha256:" and 64 digits; kInvalidArgument names the member,
// what it is, and the form. `cut`: whether its beginning would have done, too.
Result<Digest> digestMember(std::string_view member, std::string_view text, bool cut);

// Whether `text` is 12 to 64 lowercase hex digits: a digest, or its beginning, without "sha256:".
bool isBareDigest(std::string_view text);

// The most that are looked for of what a short digest could mean: one too many to be listed.
inline constexpr int kMaxMeant = 6;

// "<text> is the beginning of several <what>: sha256:…, sha256:…; give more digits": what to say of a short
// digest of which `found`, two to kMaxMeant, begin so. Of kMaxMeant the last one is told as "and more".
Error severalMeant(std::string_view text, std::string_view what, std::span<const Digest> found);

}  // namespace kiln
