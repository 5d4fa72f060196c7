#include "storage/remote/resource_name.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <charconv>
#include <limits>
#include <optional>
#include <vector>

namespace kiln::storage {
namespace {

constexpr std::size_t kMaxName = 1024;

std::vector<std::string_view> split(std::string_view name) {
  std::vector<std::string_view> segments;
  for (std::size_t start = 0;;) {
    std::size_t end = name.find('/', start);
    segments.push_back(name.substr(start, end == name.npos ? end : end - start));
    if (end == name.npos) return segments;
    start = end + 1;
  }
}

std::optional<Digest> parseDigest(std::string_view hash, std::string_view size) {
  std::int64_t bytes = 0;
  auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), bytes);
  bool canonical = error == std::errc() && end == size.data() + size.size() && bytes >= 0 &&
                   (size == "0" || (size[0] >= '1' && size[0] <= '9'));
  if (!canonical || hash.size() != 64) return std::nullopt;
  auto digest = Digest::parse(hash, static_cast<std::uint64_t>(bytes));
  return digest ? std::optional(*digest) : std::nullopt;
}

// The instance: the first segments, none of them empty.
std::optional<std::string> joinFirst(const std::vector<std::string_view>& segments, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    if (segments[i].empty()) return std::nullopt;
    if (i > 0) out += '/';
    out += segments[i];
  }
  return out;
}

tl::unexpected<Error> refuse(std::string_view name, std::string_view form) {
  if (name.find("compressed-blobs/") != name.npos)
    return fail(Code::kUnimplemented, "compressed blobs are not served; use blobs/{hash}/{size}");
  return fail(Code::kInvalidArgument, fmt::format("resource name is not of the form {}", form));
}

}  // namespace

Result<ResourceName> parseReadName(std::string_view name) {
  constexpr std::string_view kForm = "[instance/]blobs/{sha256}/{size}";
  if (name.size() > kMaxName) return refuse("", kForm);
  std::vector<std::string_view> segments = split(name);
  std::size_t count = segments.size();
  if (count < 3 || segments[count - 3] != "blobs") return refuse(name, kForm);
  auto digest = parseDigest(segments[count - 2], segments[count - 1]);
  auto instance = joinFirst(segments, count - 3);
  if (!digest || !instance) return refuse(name, kForm);
  return ResourceName{*instance, *digest, ""};
}

Result<ResourceName> parseWriteName(std::string_view name) {
  constexpr std::string_view kForm = "[instance/]uploads/{uuid}/blobs/{sha256}/{size}[/metadata]";
  if (name.size() > kMaxName) return refuse("", kForm);
  std::vector<std::string_view> segments = split(name);
  // The rightmost match: an instance may hold the same words, the metadata after the size hardly will.
  for (std::size_t at = segments.size(); at-- > 0;) {
    if (segments[at] != "uploads" || at + 4 >= segments.size() || segments[at + 2] != "blobs") continue;
    auto digest = parseDigest(segments[at + 3], segments[at + 4]);
    std::string_view upload = segments[at + 1];
    auto instance = joinFirst(segments, at);
    if (digest && instance && !upload.empty() && upload.size() <= 64)
      return ResourceName{*instance, *digest, std::string(upload)};
  }
  return refuse(name, kForm);
}

std::string readName(const std::string& instance, const Digest& digest) {
  return fmt::format("{}{}blobs/{}/{}", instance, instance.empty() ? "" : "/", digest.hex(), digest.size);
}

std::string writeName(const std::string& instance, const Digest& digest) {
  std::uint8_t random[16] = {};
  (void)!::getrandom(random, sizeof random, 0);
  random[6] = static_cast<std::uint8_t>((random[6] & 0x0f) | 0x40);  // RFC 9562: version 4
  random[8] = static_cast<std::uint8_t>((random[8] & 0x3f) | 0x80);
  std::string hex = toHex(random);
  return fmt::format("{}{}uploads/{}-{}-{}-{}-{}/blobs/{}/{}", instance, instance.empty() ? "" : "/",
                     hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4), hex.substr(16, 4), hex.substr(20),
                     digest.hex(), digest.size);
}

}  // namespace kiln::storage
