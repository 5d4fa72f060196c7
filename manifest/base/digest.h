// Digest: SHA-256 and size, the identity of every blob. Written "sha256:<64 lowercase hex>"; the size is
// carried beside it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln {

using Bytes = std::span<const std::uint8_t>;
inline Bytes asBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

struct Digest {
  std::array<std::uint8_t, 32> hash{};
  std::uint64_t size = 0;

  auto operator<=>(const Digest&) const = default;

  std::string hex() const;   // 64 lowercase hex digits
  std::string text() const;  // "sha256:" + hex()

  // `hash` is 64 lowercase hex digits, with or without "sha256:". Anything else is kInvalidArgument.
  static Result<Digest> parse(std::string_view hash, std::uint64_t size);
};

// Incremental SHA-256 over OpenSSL's EVP. Not thread safe; one hasher, one stream.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void update(Bytes bytes);
  // The digest of everything given to update(). The hasher is spent afterwards.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest digestOf(Bytes bytes);
inline Digest digestOf(std::string_view text) {
  return digestOf(asBytes(text));
}
// Hashes a regular file by streaming; the error names the path.
Result<Digest> digestOfFile(const std::string& path);

std::string toHex(Bytes bytes);
// Standard base64 with padding.
std::string toBase64(Bytes bytes);
Result<std::string> fromBase64(std::string_view text);

struct DigestHash {
  std::size_t operator()(const Digest& digest) const;
};

}  // namespace kiln
