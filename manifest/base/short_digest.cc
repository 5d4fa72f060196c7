#include "manifest/base/short_digest.h"

#include <algorithm>

#include "manifest/base/printable.h"

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

Result<Digest> digestMember(std::string_view member, std::string_view text, bool cut) {
  return Digest::parse(std::string(text), 0).map_error([&](const Error& error) {
    return Error{error.code,
                 std::string(member) + ": " + inQuotes(text) +
                     " is no digest; give sha256:<64 lowercase hex>" +
                     (cut ? ", or the first 12 of them or more" : ""),
                 {}};
  });
}

bool isBareDigest(std::string_view text) {
  return text.size() >= kMinDigits && text.size() <= kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Error severalMeant(std::string_view text, std::string_view what, std::span<const Digest> found) {
  const std::size_t listed = std::min<std::size_t>(found.size(), kMaxMeant - 1);
  std::string message = std::string(text) + " is the beginning of several " + std::string(what) + ": ";
  for (std::size_t i = 0; i < listed; ++i) message += (i == 0 ? "" : ", ") + found[i].text();
  if (listed < found.size()) message += " and more";
  return {Code::kInvalidArgument, message + "; give more digits", {}};
}

}  // namespace kiln
