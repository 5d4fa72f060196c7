// DSSE envelopes with ECDSA P-256 signatures. Source: secure-systems-lab/dsse, protocol.md and envelope.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/json/json.h"
#include "signing/keys/keys.h"

namespace kiln::signing {

inline constexpr char kInTotoPayload[] = "application/vnd.in-toto+json";
inline constexpr char kReceiptPayload[] = "application/vnd.kiln.receipt.v1+json";

struct Envelope {
  std::string payloadType;
  std::string payload;                  // the bytes that were signed
  std::vector<std::string> signatures;  // DER; no key ids are written, and those that are read mean nothing

  Json toJson() const;
};

// "DSSEv1 SP len(type) SP type SP len(body) SP body", lengths in decimal.
std::string preAuthenticationEncoding(std::string_view payloadType, std::string_view payload);

Result<Envelope> signEnvelope(std::string_view payloadType, std::string_view payload, const PrivateKey& key);

// Reads an envelope from outside. kInvalidArgument if it is malformed or its payloadType is not
// `payloadType`; at most 16 signatures. Nothing in it may be believed before verifyEnvelope.
Result<Envelope> readEnvelope(const Json& json, std::string_view payloadType);
Result<Envelope> parseEnvelope(std::string_view text, std::string_view payloadType);

// The ids of the keys that signed, each once, in the order of `keys`. kDataLoss if fewer than `threshold`
// different keys did: one key counts once however often it is listed or signed.
Result<std::vector<std::string>> verifyEnvelope(const Envelope& envelope, std::span<const PublicKey> keys,
                                                std::size_t threshold = 1);

}  // namespace kiln::signing
