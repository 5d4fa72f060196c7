// The leaves of Kiln's log: which payload was signed, how, with which key; nothing of the payload itself.
// Source: Rekor v2's hashedrekord 0.0.2, in RFC 8785 form; SHA-256 and ECDSA P-256.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "signing/dsse/dsse.h"

namespace kiln::signing {

struct Leaf {
  std::array<std::uint8_t, 32> digest{};  // SHA-256 of the envelope's pre-authentication encoding
  std::string signature;                  // DER
  std::string spki;                       // of the key, DER

  std::string text() const;
  // kInvalidArgument for anything but what text() writes, with a P-256 key.
  static Result<Leaf> parse(std::string_view text);
};

// SHA-256 of the envelope's pre-authentication encoding: what a payload is known by in the log.
std::array<std::uint8_t, 32> logDigest(std::string_view payloadType, std::string_view payload);

// kInvalidArgument unless the envelope has one signature. Does not verify it.
Result<Leaf> leafOf(const Envelope& envelope, const PublicKey& key);

}  // namespace kiln::signing
