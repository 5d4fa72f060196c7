#include "storage/index/rows/codec.h"

#include <algorithm>
#include <charconv>

namespace kiln::index {

postgres::Param hashesParam(const std::vector<Digest>& digests) {
  std::vector<std::vector<std::uint8_t>> hashes;
  for (const Digest& digest : digests) hashes.emplace_back(digest.hash.begin(), digest.hash.end());
  return hashes;
}

Digest hashAt(const postgres::Row& row, std::string_view hash) {
  Digest digest;
  auto bytes = row.get<std::vector<std::uint8_t>>(hash);
  if (bytes.size() == digest.hash.size()) std::copy(bytes.begin(), bytes.end(), digest.hash.begin());
  return digest;
}

Digest digestAt(const postgres::Row& row, std::string_view hash, std::string_view size) {
  Digest digest = hashAt(row, hash);
  digest.size = static_cast<std::uint64_t>(std::max(row.get<std::int64_t>(size), std::int64_t{0}));
  return digest;
}

std::optional<Digest> optionalDigestAt(const postgres::Row& row, std::string_view hash,
                                       std::string_view size) {
  if (row.isNull(hash)) return {};
  return digestAt(row, hash, size);
}

std::optional<GitSource> gitAt(const postgres::Row& row, const std::string& prefix) {
  GitSource source{row.get<std::string>(prefix + "_url"), row.get<std::string>(prefix + "_commit"),
                   row.get<std::string>(prefix + "_path")};
  if (source.url.empty()) return {};
  return source;
}

std::vector<ActionKind> kindsAt(const postgres::Row& row, std::string_view column) {
  std::vector<ActionKind> out;
  for (const std::string& text : row.get<std::vector<std::string>>(column)) {
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    out.push_back(static_cast<ActionKind>(number));
  }
  return out;
}

std::string bytesAt(const postgres::Row& row, std::string_view column) {
  auto bytes = row.get<std::vector<std::uint8_t>>(column);
  return {bytes.begin(), bytes.end()};
}

}  // namespace kiln::index
