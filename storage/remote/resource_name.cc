#include "storage/remote/resource_name.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "manifest/base/printable.h"
#include "storage/remote/reapi_instance.h"

namespace kiln::storage {
namespace {

constexpr std::size_t kMaxName = 1024;
constexpr std::size_t kMaxUpload = 64;

using Segments = std::vector<std::string_view>;

Segments split(std::string_view name) {
  Segments segments;
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

tl::unexpected<Error> refuse(std::string_view form) {
  return fail(Code::kInvalidArgument, fmt::format("resource name is not of the form {}", form));
}

// The instance: the first segments.
Result<std::string> instanceOf(const Segments& segments, std::size_t count) {
  if (count == 0) return std::string(kDefaultInstance);
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += '/';
    out += segments[i];
  }
  // What begins with a slash has a first segment, and that is empty.
  if (out.empty()) return fail(Code::kInvalidArgument, "resource name begins with a slash; leave it out");
  KILN_TRY(checkReapiInstance(out));
  return out;
}

bool isBlobs(std::string_view segment) {
  return segment == "blobs" || segment == "compressed-blobs";
}

// Reads {blobs|compressed-blobs/zstd}/{hash}/{size} at `at` and moves it behind. Nothing if it is not that.
Result<bool> readBlob(const Segments& segments, std::size_t& at, ResourceName& name) {
  const auto segment = [&](std::size_t i) { return i < segments.size() ? segments[i] : std::string_view(); };
  name.zstd = segment(at++) == "compressed-blobs";
  if (name.zstd && segment(at) != "zstd")
    return fail(Code::kInvalidArgument, fmt::format("compressor {} is not served; use compressed-blobs/zstd "
                                                    "or blobs",
                                                    inQuotes(segment(at))));
  at += name.zstd;
  const bool isFunction = segment(at).size() < 16 && segment(at + 1).size() >= 32;
  if (isFunction)
    return fail(Code::kInvalidArgument,
                fmt::format("digest function {} is not served; use SHA-256, which a name leaves out",
                            inQuotes(segment(at))));
  const auto digest = parseDigest(segment(at), segment(at + 1));
  if (!digest) return false;
  name.digest = *digest;
  at += 2;
  return true;
}

}  // namespace

Result<ResourceName> parseReadName(std::string_view name) {
  constexpr std::string_view kForm = "[instance/]{blobs|compressed-blobs/zstd}/{sha256}/{size}";
  if (name.size() > kMaxName) return refuse(kForm);
  const Segments segments = split(name);
  std::size_t at = static_cast<std::size_t>(std::ranges::find_if(segments, isBlobs) - segments.begin());
  ResourceName out;
  if (at == segments.size()) return refuse(kForm);
  KILN_ASSIGN(out.instance, instanceOf(segments, at));
  KILN_ASSIGN(const bool good, readBlob(segments, at, out));
  if (!good || at != segments.size()) return refuse(kForm);
  return out;
}

Result<ResourceName> parseWriteName(std::string_view name) {
  constexpr std::string_view kForm =
      "[instance/]uploads/{uuid}/{blobs|compressed-blobs/zstd}/{sha256}/{size}[/metadata]";
  if (name.size() > kMaxName) return refuse(kForm);
  const Segments segments = split(name);
  std::size_t at = static_cast<std::size_t>(std::ranges::find(segments, "uploads") - segments.begin());
  if (at + 2 >= segments.size() || !isBlobs(segments[at + 2])) return refuse(kForm);
  ResourceName out;
  KILN_ASSIGN(out.instance, instanceOf(segments, at));
  out.upload = segments[at + 1];
  if (out.upload.empty() || out.upload.size() > kMaxUpload) return refuse(kForm);
  at += 2;
  KILN_ASSIGN(const bool good, readBlob(segments, at, out));
  if (!good) return refuse(kForm);
  return out;
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
