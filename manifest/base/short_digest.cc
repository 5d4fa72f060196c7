#include "manifest/base/short_digest.h"

#include <string>

namespace kiln {
namespace {

constexpr std::string_view kAlgorithm = "sha256:";
constexpr std::size_t kMinDigits = 12, kDigits = 64;

}  // namespace

std::optional<DigestRange> shortDigestRange(std::string_view text) {
  if (!text.starts_with(kAlgorithm)) return {};
  const std::size_t digits = text.size() - kAlgorithm.size();
  if (digits < kMinDigits || digits >= kDigits) return {};
  const std::string begin(text);
  const auto first = Digest::parse(begin + std::string(kDigits - digits, '0'), 0);
  const auto last = Digest::parse(begin + std::string(kDigits - digits, 'f'), 0);
  if (!first || !last) return {};
  return DigestRange{*first, *last};
}

}  // namespace kiln
